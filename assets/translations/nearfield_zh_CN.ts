<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_CN">
<context>
    <name>AboutPage</name>
    <message>
        <source>About</source>
        <translation>关于</translation>
    </message>
    <message>
        <source>Nearfield speaks where you are: a server makes codes of the words, this computer makes sound of them.</source>
        <translation>Nearfield 就在您身边发声：服务器把文字变成编码，这台电脑再把编码变成声音。</translation>
    </message>
    <message>
        <source>Versions</source>
        <translation>版本</translation>
    </message>
    <message>
        <source>System</source>
        <translation>系统</translation>
    </message>
    <message>
        <source>&amp;Copy the versions</source>
        <translation>复制版本信息(&amp;C)</translation>
    </message>
    <message>
        <source>Look for a &amp;newer version once a day</source>
        <translation>每天检查一次新版本(&amp;N)</translation>
    </message>
    <message>
        <source>It asks pypi.org for Nearfield&apos;s newest version, which shows it this computer&apos;s network address. Nothing else about you or this computer is sent, and nothing is installed.</source>
        <translation>会向 pypi.org 询问 Nearfield 的最新版本，对方会因此看到这台电脑的网络地址。不会发送关于您或这台电脑的其他信息，也不会安装任何内容。</translation>
    </message>
    <message>
        <source>Files</source>
        <translation>文件</translation>
    </message>
    <message>
        <source>&amp;Log, to be sent along with a report</source>
        <translation>日志(&amp;L)（反馈问题时请附上）</translation>
    </message>
    <message>
        <source>&amp;Settings</source>
        <translation>设置(&amp;S)</translation>
    </message>
    <message>
        <source>Open the folder of the log</source>
        <translation>打开日志文件夹</translation>
    </message>
    <message>
        <source>Open the folder of the settings</source>
        <translation>打开设置文件夹</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>打开</translation>
    </message>
    <message>
        <source>Licences</source>
        <translation>许可证</translation>
    </message>
    <message>
        <source>Nearfield is free software under the Apache License 2.0. It is made with these packages:</source>
        <translation>Nearfield 是自由软件，采用 Apache License 2.0 许可证，使用了以下软件包：</translation>
    </message>
    <message>
        <source>Package</source>
        <translation>软件包</translation>
    </message>
    <message>
        <source>Licence</source>
        <translation>许可证</translation>
    </message>
    <message>
        <source>Packages and their licences</source>
        <translation>软件包及其许可证</translation>
    </message>
    <message>
        <source>Nearfield {0} can be had at {1}.</source>
        <translation>可从 {1} 获取 Nearfield {0}。</translation>
    </message>
</context>
<context>
    <name>Actions</name>
    <message>
        <source>&amp;Open text…</source>
        <translation>打开文本(&amp;O)…</translation>
    </message>
    <message>
        <source>&amp;Save audio…</source>
        <translation>保存音频(&amp;S)…</translation>
    </message>
    <message>
        <source>Write the sound of this reading to a file</source>
        <translation>将本次朗读的声音保存为文件</translation>
    </message>
    <message>
        <source>&amp;Quit</source>
        <translation>退出(&amp;Q)</translation>
    </message>
    <message>
        <source>&amp;Undo</source>
        <translation>撤销(&amp;U)</translation>
    </message>
    <message>
        <source>&amp;Redo</source>
        <translation>重做(&amp;R)</translation>
    </message>
    <message>
        <source>Cu&amp;t</source>
        <translation>剪切(&amp;T)</translation>
    </message>
    <message>
        <source>&amp;Copy</source>
        <translation>复制(&amp;C)</translation>
    </message>
    <message>
        <source>&amp;Paste</source>
        <translation>粘贴(&amp;P)</translation>
    </message>
    <message>
        <source>Select &amp;all</source>
        <translation>全选(&amp;A)</translation>
    </message>
    <message>
        <source>C&amp;lear text</source>
        <translation>清空文本(&amp;L)</translation>
    </message>
    <message>
        <source>&amp;Speak</source>
        <translation>朗读(&amp;S)</translation>
    </message>
    <message>
        <source>Speak the text</source>
        <translation>朗读文本</translation>
    </message>
    <message>
        <source>Speak s&amp;election</source>
        <translation>朗读所选文本(&amp;E)</translation>
    </message>
    <message>
        <source>Speak &amp;clipboard</source>
        <translation>朗读剪贴板(&amp;C)</translation>
    </message>
    <message>
        <source>&amp;Pause</source>
        <translation>暂停(&amp;P)</translation>
    </message>
    <message>
        <source>Hold the sound where it is</source>
        <translation>暂停朗读</translation>
    </message>
    <message>
        <source>S&amp;top</source>
        <translation>停止(&amp;T)</translation>
    </message>
    <message>
        <source>Be silent at once</source>
        <translation>立即停止朗读</translation>
    </message>
    <message>
        <source>&amp;Back a sentence</source>
        <translation>上一句(&amp;B)</translation>
    </message>
    <message>
        <source>&amp;Forward a sentence</source>
        <translation>下一句(&amp;F)</translation>
    </message>
    <message>
        <source>&amp;History</source>
        <translation>历史记录(&amp;H)</translation>
    </message>
    <message>
        <source>&amp;Voice</source>
        <translation>音色(&amp;V)</translation>
    </message>
    <message>
        <source>&amp;Latency</source>
        <translation>延迟(&amp;L)</translation>
    </message>
    <message>
        <source>As the &amp;desktop</source>
        <translation>跟随系统(&amp;D)</translation>
    </message>
    <message>
        <source>&amp;Light</source>
        <translation>浅色(&amp;L)</translation>
    </message>
    <message>
        <source>&amp;Dark</source>
        <translation>深色(&amp;D)</translation>
    </message>
    <message>
        <source>S&amp;ettings…</source>
        <translation>设置(&amp;E)…</translation>
    </message>
    <message>
        <source>&amp;Keyboard</source>
        <translation>键盘快捷键(&amp;K)</translation>
    </message>
    <message>
        <source>Copy &amp;report</source>
        <translation>复制报告(&amp;R)</translation>
    </message>
    <message>
        <source>&amp;About Nearfield</source>
        <translation>关于 Nearfield(&amp;A)</translation>
    </message>
    <message>
        <source>Show &amp;window</source>
        <translation>显示窗口(&amp;W)</translation>
    </message>
    <message>
        <source>&amp;File</source>
        <translation>文件(&amp;F)</translation>
    </message>
    <message>
        <source>&amp;Edit</source>
        <translation>编辑(&amp;E)</translation>
    </message>
    <message>
        <source>&amp;Speech</source>
        <translation>朗读(&amp;S)</translation>
    </message>
    <message>
        <source>&amp;View</source>
        <translation>视图(&amp;V)</translation>
    </message>
    <message>
        <source>&amp;Help</source>
        <translation>帮助(&amp;H)</translation>
    </message>
    <message>
        <source>&amp;Theme</source>
        <translation>主题(&amp;T)</translation>
    </message>
    <message>
        <source>&amp;Resume</source>
        <translation>继续(&amp;R)</translation>
    </message>
    <message>
        <source>Go on where the sound was held</source>
        <translation>从暂停处继续朗读</translation>
    </message>
</context>
<context>
    <name>AppearancePage</name>
    <message>
        <source>Appearance</source>
        <translation>外观</translation>
    </message>
    <message>
        <source>&amp;Theme</source>
        <translation>主题(&amp;T)</translation>
    </message>
    <message>
        <source>As the desktop</source>
        <translation>跟随系统</translation>
    </message>
    <message>
        <source>Light</source>
        <translation>浅色</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>深色</translation>
    </message>
    <message>
        <source>Si&amp;ze of text</source>
        <translation>文字大小(&amp;Z)</translation>
    </message>
    <message>
        <source>Relative to the desktop&apos;s own.</source>
        <translation>相对于系统的文字大小。</translation>
    </message>
    <message>
        <source>{0} %</source>
        <translation>{0}%</translation>
    </message>
    <message>
        <source>&amp;Language</source>
        <translation>语言(&amp;L)</translation>
    </message>
    <message>
        <source>&amp;Reduce motion</source>
        <translation>减少动态效果(&amp;R)</translation>
    </message>
    <message>
        <source>Nothing slides or fades; things appear where they belong.</source>
        <translation>不使用滑动和渐变，内容直接出现在应在的位置。</translation>
    </message>
</context>
<context>
    <name>AudioPage</name>
    <message>
        <source>Sound</source>
        <translation>音频</translation>
    </message>
    <message>
        <source>&amp;Output device</source>
        <translation>输出设备(&amp;O)</translation>
    </message>
    <message>
        <source>&amp;Look again</source>
        <translation>重新检测(&amp;L)</translation>
    </message>
    <message>
        <source>&amp;Volume</source>
        <translation>音量(&amp;V)</translation>
    </message>
    <message>
        <source>Of what is heard; what is saved keeps its full level.</source>
        <translation>只影响播放；保存的音频保持原有音量。</translation>
    </message>
    <message>
        <source>Timing</source>
        <translation>延迟与缓冲</translation>
    </message>
    <message>
        <source> ms</source>
        <translation> ms</translation>
    </message>
    <message>
        <source>L&amp;atency of the device</source>
        <translation>设备延迟(&amp;A)</translation>
    </message>
    <message>
        <source>Below 100 ms some sound servers crackle.</source>
        <translation>低于 100 ms 时，有些声音服务会出现爆音。</translation>
    </message>
    <message>
        <source>Sound to have &amp;before it starts</source>
        <translation>开始播放前的缓冲(&amp;B)</translation>
    </message>
    <message>
        <source>Less starts sooner, more bridges a line that falters. It grows by itself where needed.</source>
        <translation>缓冲越少，开始得越快；缓冲越多，网络不稳时越不容易卡顿。需要时会自动增加。</translation>
    </message>
    <message>
        <source>&amp;Silence first</source>
        <translation>开头静音(&amp;S)</translation>
    </message>
    <message>
        <source>Wakes a sleeping USB, HDMI or Bluetooth device, which else swallows the first word.</source>
        <translation>用于唤醒休眠的 USB、HDMI 或蓝牙设备，以免漏掉开头的字。</translation>
    </message>
    <message>
        <source>There is no sound device now. As soon as one appears, it is used.</source>
        <translation>当前没有声音设备。设备接入后会立即使用。</translation>
    </message>
    <message>
        <source>System default</source>
        <translation>系统默认</translation>
    </message>
    <message>
        <source>{0} (not there now)</source>
        <translation>{0}（当前不可用）</translation>
    </message>
</context>
<context>
    <name>CheckpointRow</name>
    <message>
        <source>Found: {0} at {1} kHz, in {2}</source>
        <translation>已找到：{0}，{1} kHz，位于 {2}</translation>
    </message>
    <message>
        <source>It is not on this computer yet.</source>
        <translation>这台电脑上还没有。</translation>
    </message>
    <message>
        <source>{0}
Still in use: {1}</source>
        <translation>{0}
仍在使用：{1}</translation>
    </message>
</context>
<context>
    <name>CloneDialog</name>
    <message>
        <source>Called off. The server may have it all the same: look at the list.</source>
        <translation>已取消，但服务器可能已经收到，请查看列表。</translation>
    </message>
    <message>
        <source>“{0}” is on the server now.</source>
        <translation>“{0}”已上传到服务器。</translation>
    </message>
    <message>
        <source>The server looks at the recording…</source>
        <translation>服务器正在检查录音…</translation>
    </message>
    <message>
        <source>Uploading…</source>
        <translation>正在上传…</translation>
    </message>
    <message>
        <source>{0} s of sound</source>
        <translation>时长 {0} 秒</translation>
    </message>
    <message>
        <source>Cloned voices</source>
        <translation>克隆音色</translation>
    </message>
    <message>
        <source>Clone a voice</source>
        <translation>克隆新音色</translation>
    </message>
    <message>
        <source>Recording</source>
        <translation>录音</translation>
    </message>
    <message>
        <source>Recording of the voice</source>
        <translation>用于克隆的录音</translation>
    </message>
    <message>
        <source>&amp;Name</source>
        <translation>名称(&amp;N)</translation>
    </message>
    <message>
        <source>Name of the new voice</source>
        <translation>新音色的名称</translation>
    </message>
    <message>
        <source>What is &amp;said in it (optional, sounds closer)</source>
        <translation>录音内容(&amp;S)（可选，填写后更像原声）</translation>
    </message>
    <message>
        <source>What is said in the recording, optional</source>
        <translation>录音中说的内容，可选</translation>
    </message>
    <message>
        <source>Word for word</source>
        <translation>请逐字填写</translation>
    </message>
    <message>
        <source>&amp;Upload</source>
        <translation>上传(&amp;U)</translation>
    </message>
    <message>
        <source>Upload the recording to the server</source>
        <translation>将录音上传到服务器</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Cancel the upload</source>
        <translation>取消上传</translation>
    </message>
    <message>
        <source>Progress of the upload</source>
        <translation>上传进度</translation>
    </message>
    <message>
        <source>Uploaded voices</source>
        <translation>已上传的音色</translation>
    </message>
</context>
<context>
    <name>Closing</name>
    <message>
        <source>Close the window</source>
        <translation>关闭窗口</translation>
    </message>
    <message>
        <source>Keep Nearfield in the tray?</source>
        <translation>让 Nearfield 留在系统托盘中吗？</translation>
    </message>
    <message>
        <source>There it goes on speaking, and is quickly at hand. You are asked this once; the settings have it, too.</source>
        <translation>留在托盘中可以继续朗读，也能随时调出。此问题只询问一次，之后可在设置中更改。</translation>
    </message>
    <message>
        <source>Keep in the tray</source>
        <translation>留在托盘中</translation>
    </message>
    <message>
        <source>Quit</source>
        <translation>退出</translation>
    </message>
</context>
<context>
    <name>ConnectionChip</name>
    <message>
        <source>connects when you speak</source>
        <translation>朗读时连接</translation>
    </message>
    <message>
        <source>connecting…</source>
        <translation>正在连接…</translation>
    </message>
    <message>
        <source>connected</source>
        <translation>已连接</translation>
    </message>
    <message>
        <source>preparing the decoder…</source>
        <translation>正在准备解码器…</translation>
    </message>
    <message>
        <source>ready (codec tokens)</source>
        <translation>就绪（语音 token）</translation>
    </message>
    <message>
        <source>ready (PCM)</source>
        <translation>就绪（PCM）</translation>
    </message>
    <message>
        <source>no decoder</source>
        <translation>没有解码器</translation>
    </message>
    <message>
        <source>offline</source>
        <translation>离线</translation>
    </message>
    <message>
        <source>refused</source>
        <translation>已被拒绝</translation>
    </message>
    <message>
        <source>There is no connection now. One is made as soon as you speak.</source>
        <translation>当前未连接，开始朗读时会自动连接。</translation>
    </message>
    <message>
        <source>The server is being called.</source>
        <translation>正在连接服务器。</translation>
    </message>
    <message>
        <source>The server is there. Who decodes shows with the first text.</source>
        <translation>服务器已连接。朗读第一段文本后即可知道由哪一方解码。</translation>
    </message>
    <message>
        <source>The decoder is being loaded and warmed up. You can already speak.</source>
        <translation>正在加载并预热解码器，现在就可以开始朗读。</translation>
    </message>
    <message>
        <source>The server sends codec tokens; they are decoded here.</source>
        <translation>服务器发送语音 token，由本机解码。</translation>
    </message>
    <message>
        <source>The server decodes and sends finished sound.</source>
        <translation>由服务器解码，直接发送声音。</translation>
    </message>
    <message>
        <source>Codec tokens cannot be decoded here. Choose a decoder in the settings.</source>
        <translation>本机无法解码语音 token，请在设置中选择解码器。</translation>
    </message>
    <message>
        <source>The server cannot be reached.</source>
        <translation>无法连接到服务器。</translation>
    </message>
    <message>
        <source>The server says no. Look at its address and key in the settings.</source>
        <translation>服务器拒绝了连接，请在设置中检查地址和密钥。</translation>
    </message>
    <message>
        <source>{0}: {1}</source>
        <translation>{0}：{1}</translation>
    </message>
    <message>
        <source>Server {0}</source>
        <translation>服务器 {0}</translation>
    </message>
    <message>
        <source>Demo</source>
        <translation>演示</translation>
    </message>
    <message>
        <source>offline, next try in {0} s</source>
        <translation>离线，{0} 秒后重试</translation>
    </message>
    <message>
        <source>Try now</source>
        <translation>立即重试</translation>
    </message>
    <message>
        <source>Server settings…</source>
        <translation>服务器设置…</translation>
    </message>
</context>
<context>
    <name>ConsentBox</name>
    <message>
        <source>The person who speaks in this recording knows that the voice is cloned, and has agreed to that and to what I use it for. Or it is my own voice.</source>
        <translation>录音中的说话人知道自己的声音将被克隆，并且同意克隆及我的使用目的；或者，这就是我本人的声音。</translation>
    </message>
    <message>
        <source>I confirm this</source>
        <translation>我确认以上内容</translation>
    </message>
</context>
<context>
    <name>DecoderPage</name>
    <message>
        <source>Exact</source>
        <translation>精确</translation>
    </message>
    <message>
        <source>Automatic</source>
        <translation>自动</translation>
    </message>
    <message>
        <source>Fast</source>
        <translation>快速</translation>
    </message>
    <message>
        <source>The same sound as the original decoder&apos;s, in 32-bit numbers. Right for most computers.</source>
        <translation>与原始解码器的声音完全相同，使用 32 位数值。适合大多数电脑。</translation>
    </message>
    <message>
        <source>Measures once how fast this computer is each way, and takes less exact numbers only where that is clearly faster and cannot be heard.</source>
        <translation>先测量一次这台电脑在各种精度下的速度；只有明显更快且听不出差别时，才使用较低精度。</translation>
    </message>
    <message>
        <source>Less exact numbers wherever this computer has instructions for them. Saves memory, and on some computers time.</source>
        <translation>只要这台电脑有相应的指令，就使用较低精度。可节省内存，在部分电脑上也更快。</translation>
    </message>
    <message>
        <source>Processor (CPU)</source>
        <translation>处理器（CPU）</translation>
    </message>
    <message>
        <source>Graphics card (CUDA)</source>
        <translation>显卡（CUDA）</translation>
    </message>
    <message>
        <source>Decoder</source>
        <translation>解码器</translation>
    </message>
    <message>
        <source>For servers that send codec tokens. A server that decodes itself needs nothing of this, and the demo brings its own.</source>
        <translation>用于发送语音 token 的服务器。自行解码的服务器不需要它，演示则自带解码器。</translation>
    </message>
    <message>
        <source>&amp;Weights</source>
        <translation>权重(&amp;W)</translation>
    </message>
    <message>
        <source>A folder with speech_tokenizer in it, or the name of a repository, such as {0}.</source>
        <translation>包含 speech_tokenizer 的文件夹，或仓库名称，例如 {0}。</translation>
    </message>
    <message>
        <source>&amp;Choose a folder…</source>
        <translation>选择文件夹(&amp;C)…</translation>
    </message>
    <message>
        <source>&amp;Runs on</source>
        <translation>运行设备(&amp;R)</translation>
    </message>
    <message>
        <source>Where there is no such graphics card, the processor is used and a notice says so.</source>
        <translation>没有可用的显卡时改用处理器，并显示提示。</translation>
    </message>
    <message>
        <source>&amp;Precision</source>
        <translation>精度(&amp;P)</translation>
    </message>
    <message>
        <source>&amp;Threads</source>
        <translation>线程数(&amp;T)</translation>
    </message>
    <message>
        <source>Processors that decode at the same time.</source>
        <translation>同时用于解码的处理器数量。</translation>
    </message>
    <message>
        <source>Folder with the weights</source>
        <translation>权重文件夹</translation>
    </message>
</context>
<context>
    <name>DownloadRow</name>
    <message>
        <source>Cancel the download</source>
        <translation>取消下载</translation>
    </message>
    <message>
        <source>Download of the weights</source>
        <translation>权重下载</translation>
    </message>
    <message>
        <source>Go on with the download</source>
        <translation>继续下载</translation>
    </message>
    <message>
        <source>Download the weights</source>
        <translation>下载权重</translation>
    </message>
    <message>
        <source>Looking what there is…</source>
        <translation>正在查询文件…</translation>
    </message>
    <message>
        <source>{0} of {1}</source>
        <translation>{0} / {1}</translation>
    </message>
    <message>
        <source>{0} of {1}, {2} a second</source>
        <translation>{0} / {1}，每秒 {2}</translation>
    </message>
</context>
<context>
    <name>Editor</name>
    <message>
        <source>Hear from here</source>
        <translation>从这里开始朗读</translation>
    </message>
    <message>
        <source>Only the first of the files was opened.</source>
        <translation>只打开了第一个文件。</translation>
    </message>
    <message>
        <source>Text to be read aloud</source>
        <translation>要朗读的文本</translation>
    </message>
    <message>
        <source>Write or paste a text here, or drop a text file, then press Ctrl+Enter to hear it.</source>
        <translation>在此输入或粘贴文本，也可以拖入文本文件，然后按 Ctrl+Enter 开始朗读。</translation>
    </message>
    <message>
        <source>The text is longer than {0} characters: the rest was left out.</source>
        <translation>文本超过 {0} 个字符，其余部分已略去。</translation>
    </message>
    <message>
        <source>{0} does not say how it is encoded; it was read as {1}. Look whether it is right.</source>
        <translation>{0} 没有标明编码，已按 {1} 读取，请检查内容是否正确。</translation>
    </message>
    <message>
        <source>Blocks of code were left out.</source>
        <translation>已略去代码块。</translation>
    </message>
    <message>
        <source>{0} is no text file, or in an unknown encoding; save it as UTF-8.</source>
        <translation>{0} 不是文本文件，或编码无法识别，请另存为 UTF-8。</translation>
    </message>
    <message>
        <source>{0} is too long: at most {1} characters are read aloud at once.</source>
        <translation>{0} 太长：一次最多朗读 {1} 个字符。</translation>
    </message>
    <message>
        <source>{0} cannot be opened: {1}</source>
        <translation>无法打开 {0}：{1}</translation>
    </message>
</context>
<context>
    <name>EntryActions</name>
    <message>
        <source>Hear again</source>
        <translation>重新播放</translation>
    </message>
    <message>
        <source>Enter</source>
        <translation>Enter</translation>
    </message>
    <message>
        <source>Put the text into the editor</source>
        <translation>将文本放入编辑器</translation>
    </message>
    <message>
        <source>Copy the text</source>
        <translation>复制文本</translation>
    </message>
    <message>
        <source>Ctrl+C</source>
        <translation>Ctrl+C</translation>
    </message>
    <message>
        <source>Save audio…</source>
        <translation>保存音频…</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>删除</translation>
    </message>
    <message>
        <source>Del</source>
        <translation>Del</translation>
    </message>
    <message>
        <source>Clear the history…</source>
        <translation>清空历史记录…</translation>
    </message>
    <message>
        <source>{0} ({1})</source>
        <translation>{0} ({1})</translation>
    </message>
</context>
<context>
    <name>EntryDelegate</name>
    <message>
        <source>Recording without a text</source>
        <translation>没有文本的录音</translation>
    </message>
</context>
<context>
    <name>FormView</name>
    <message>
        <source>Uploaded voice</source>
        <translation>已上传的音色</translation>
    </message>
    <message>
        <source>Speaker</source>
        <translation>说话人</translation>
    </message>
    <message>
        <source>This server has no voice “{0}”: its default speaks instead.</source>
        <translation>此服务器没有音色“{0}”，改用默认音色朗读。</translation>
    </message>
    <message>
        <source>Description</source>
        <translation>描述</translation>
    </message>
    <message>
        <source>Style (optional)</source>
        <translation>风格（可选）</translation>
    </message>
    <message>
        <source>Description of the voice</source>
        <translation>音色描述</translation>
    </message>
    <message>
        <source>Style in words, optional</source>
        <translation>用文字描述的风格，可选</translation>
    </message>
    <message>
        <source>A calm elderly man with a slight Scottish accent</source>
        <translation>一位沉稳的老先生，略带京腔</translation>
    </message>
    <message>
        <source>Cheerful and quick, like good news</source>
        <translation>语调欢快，语速稍快，像在报喜</translation>
    </message>
    <message>
        <source>{0} of {1}</source>
        <translation>{0}/{1}</translation>
    </message>
    <message>
        <source>Kind of voice</source>
        <translation>音色类型</translation>
    </message>
    <message>
        <source>A voice uploaded to the server</source>
        <translation>已上传到服务器的音色</translation>
    </message>
    <message>
        <source>A recording on this computer</source>
        <translation>这台电脑上的录音</translation>
    </message>
    <message>
        <source>Language</source>
        <translation>语言</translation>
    </message>
    <message>
        <source>Language that is spoken</source>
        <translation>朗读的语言</translation>
    </message>
    <message>
        <source>Clone and manage voices…</source>
        <translation>克隆和管理音色…</translation>
    </message>
    <message>
        <source>Advanced</source>
        <translation>高级</translation>
    </message>
    <message>
        <source>Advanced settings of the voice</source>
        <translation>音色的高级设置</translation>
    </message>
    <message>
        <source>Seed</source>
        <translation>随机种子</translation>
    </message>
    <message>
        <source>Seed: the same number gives the same reading</source>
        <translation>随机种子：相同的数值得到相同的朗读</translation>
    </message>
    <message>
        <source>Empty: another reading each time</source>
        <translation>留空则每次朗读都不同</translation>
    </message>
    <message>
        <source>The same number gives the same reading, where the server supports it.</source>
        <translation>在服务器支持时，相同的数值得到相同的朗读。</translation>
    </message>
</context>
<context>
    <name>History</name>
    <message>
        <source>TTFA {0}</source>
        <translation>首音 {0}</translation>
    </message>
    <message>
        <source>stopped</source>
        <translation>已停止</translation>
    </message>
    <message>
        <source>failed</source>
        <translation>失败</translation>
    </message>
    <message>
        <source>interrupted</source>
        <translation>已中断</translation>
    </message>
    <message>
        <source>incomplete</source>
        <translation>不完整</translation>
    </message>
    <message>
        <source>just now</source>
        <translation>刚刚</translation>
    </message>
    <message>
        <source>{0} min ago</source>
        <translation>{0} 分钟前</translation>
    </message>
    <message>
        <source>yesterday</source>
        <translation>昨天</translation>
    </message>
    <message>
        <source>no text</source>
        <translation>无文本</translation>
    </message>
</context>
<context>
    <name>HistoryView</name>
    <message>
        <source>The text is in the clipboard.</source>
        <translation>文本已复制到剪贴板。</translation>
    </message>
    <message>
        <source>The recording</source>
        <translation>录音</translation>
    </message>
    <message>
        <source>Deleted: {0}</source>
        <translation>已删除：{0}</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>撤销</translation>
    </message>
    <message>
        <source>Dismiss</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Delete all recordings and their texts, {0}? This cannot be undone.</source>
        <translation>要删除全部录音及其文本（{0}）吗？此操作无法撤销。</translation>
    </message>
    <message>
        <source>Delete all</source>
        <translation>全部删除</translation>
    </message>
    <message>
        <source>Keep them</source>
        <translation>保留</translation>
    </message>
    <message>
        <source>Nothing in the history has these words. Try fewer of them.</source>
        <translation>历史记录中没有匹配的内容，请减少关键词再试。</translation>
    </message>
    <message>
        <source>The history is switched off; the settings can switch it on.</source>
        <translation>历史记录已关闭，可在设置中开启。</translation>
    </message>
    <message>
        <source>What was read aloud is kept here. Write something and press Speak.</source>
        <translation>朗读过的内容会保存在这里。
输入文本后点击“朗读”即可开始。</translation>
    </message>
    <message>
        <source>History</source>
        <translation>历史记录</translation>
    </message>
    <message>
        <source>Search</source>
        <translation>搜索</translation>
    </message>
    <message>
        <source>Search the history</source>
        <translation>搜索历史记录</translation>
    </message>
    <message>
        <source>Show all</source>
        <translation>显示全部</translation>
    </message>
    <message>
        <source>Past readings</source>
        <translation>朗读过的内容</translation>
    </message>
</context>
<context>
    <name>Intents</name>
    <message>
        <source>There is no text in the clipboard.</source>
        <translation>剪贴板中没有文本。</translation>
    </message>
    <message>
        <source>Nothing is selected in the text.</source>
        <translation>没有选中任何文本。</translation>
    </message>
    <message>
        <source>The report is in the clipboard.</source>
        <translation>报告已复制到剪贴板。</translation>
    </message>
    <message>
        <source>The sound is back, at {0}.</source>
        <translation>声音已恢复，输出到{0}。</translation>
    </message>
</context>
<context>
    <name>KeysDialog</name>
    <message>
        <source>Keyboard</source>
        <translation>键盘快捷键</translation>
    </message>
    <message>
        <source>From any other program</source>
        <translation>在其他程序中使用</translation>
    </message>
    <message>
        <source>In the desktop&apos;s settings, under keyboard shortcuts, add one of your own with the command “{0}”. It has the window speak what was copied, and works without an open window, too.</source>
        <translation>在系统设置的“键盘快捷键”中添加一个自定义快捷键，命令填写“{0}”，即可让窗口朗读已复制的内容；窗口没有打开时同样有效。</translation>
    </message>
    <message>
        <source>Have a key of your choice run the command “{0}”, by the means of your system. It has the window speak what was copied, and works without an open window, too.</source>
        <translation>用系统自带的功能，让您选定的按键运行命令“{0}”，即可让窗口朗读已复制的内容；窗口没有打开时同样有效。</translation>
    </message>
</context>
<context>
    <name>Latency</name>
    <message>
        <source>Connect</source>
        <translation>连接</translation>
    </message>
    <message>
        <source>Server</source>
        <translation>服务器</translation>
    </message>
    <message>
        <source>Hold</source>
        <translation>待解码</translation>
    </message>
    <message>
        <source>Decode</source>
        <translation>解码</translation>
    </message>
    <message>
        <source>Queue</source>
        <translation>排队</translation>
    </message>
    <message>
        <source>Ring</source>
        <translation>起播缓冲</translation>
    </message>
    <message>
        <source>Device</source>
        <translation>设备</translation>
    </message>
    <message>
        <source>Silence</source>
        <translation>静音</translation>
    </message>
    <message>
        <source>From your request to the moment the text was sent: connecting, mostly. Not part of the TTFA.</source>
        <translation>从发出请求到文本发送完毕，主要是建立连接的时间。不计入首音延迟。</translation>
    </message>
    <message>
        <source>From the text sent to the first frame, or sound, received.</source>
        <translation>从文本发送完毕到收到第一帧（或第一段声音）。</translation>
    </message>
    <message>
        <source>From the first frame received to the moment the first chunk began to be decoded.</source>
        <translation>从收到第一帧到开始解码第一块。</translation>
    </message>
    <message>
        <source>From the start to the end of decoding the first chunk; 0 if the server decodes.</source>
        <translation>第一块从开始解码到解码完成的时间；由服务器解码时为 0。</translation>
    </message>
    <message>
        <source>From the first sound ready to the end of what was heard before: waiting for its turn. 0 if nothing was.</source>
        <translation>从第一段声音就绪到前面的内容播放完毕，即排队等待的时间；前面没有内容时为 0。</translation>
    </message>
    <message>
        <source>From there to the moment the sound device asks for the first samples: mostly the start buffer filling.</source>
        <translation>从此时到声音设备读取第一批采样，主要是填充起播缓冲的时间。</translation>
    </message>
    <message>
        <source>From that moment to the first sample leaving the device, as the device reports it.</source>
        <translation>从此时到第一个采样由设备输出，以设备报告的时间为准。</translation>
    </message>
    <message>
        <source>From the first sample to the first one that can be heard, beyond -50 dBFS. Not part of the TTFA.</source>
        <translation>从第一个采样到第一个可以听见的采样（高于 -50 dBFS）。不计入首音延迟。</translation>
    </message>
    <message>
        <source>The server takes the longest: {0} of {1}.</source>
        <translation>服务器耗时最长：{0}，共 {1}。</translation>
    </message>
    <message>
        <source>Waiting to decode takes the longest: {0} of {1}.</source>
        <translation>等待解码耗时最长：{0}，共 {1}。</translation>
    </message>
    <message>
        <source>Decoding takes the longest: {0} of {1}.</source>
        <translation>解码耗时最长：{0}，共 {1}。</translation>
    </message>
    <message>
        <source>Filling the start buffer takes the longest: {0} of {1}.</source>
        <translation>填充起播缓冲耗时最长：{0}，共 {1}。</translation>
    </message>
    <message>
        <source>The sound device takes the longest: {0} of {1}.</source>
        <translation>声音设备耗时最长：{0}，共 {1}。</translation>
    </message>
</context>
<context>
    <name>LatencyPanel</name>
    <message>
        <source>Speak something: how long it takes to be heard is shown here.</source>
        <translation>朗读一段文本，这里会显示多久能听到声音。</translation>
    </message>
    <message>
        <source>by server</source>
        <translation>由服务器</translation>
    </message>
    <message>
        <source>{0} ({1})</source>
        <translation>{0}（{1}）</translation>
    </message>
    <message>
        <source>Latency</source>
        <translation>延迟</translation>
    </message>
    <message>
        <source>Time to first audio</source>
        <translation>首音延迟</translation>
    </message>
    <message>
        <source>TTFA: from the moment the text is sent to the first sample leaving the sound device.</source>
        <translation>首音延迟（TTFA）：从文本发送完毕到第一个采样由声音设备输出的时间。</translation>
    </message>
    <message>
        <source>Copy report</source>
        <translation>复制报告</translation>
    </message>
    <message>
        <source>Copy these numbers as text</source>
        <translation>将这些数据复制为文本</translation>
    </message>
    <message>
        <source>Copy the latency report</source>
        <translation>复制延迟报告</translation>
    </message>
    <message>
        <source>RTF</source>
        <translation>实时率</translation>
    </message>
    <message>
        <source>Real-time factor: seconds spent decoding for each second of sound. Below 1 the decoder keeps up. There is none if the server decodes.</source>
        <translation>实时率（RTF）：解码每秒声音所用的秒数，小于 1 表示解码跟得上播放。由服务器解码时没有此项。</translation>
    </message>
    <message>
        <source>Underruns</source>
        <translation>卡顿</translation>
    </message>
    <message>
        <source>How often the sound stopped in mid-sentence because no more was ready, and for how long.</source>
        <translation>句中因数据未就绪而断音的次数和总时长。</translation>
    </message>
    <message>
        <source>Frames</source>
        <translation>帧数</translation>
    </message>
    <message>
        <source>Codec frames received, 80 ms of sound each. There are none if the server decodes.</source>
        <translation>收到的语音 token 帧数，每帧为 80 ms 的声音。由服务器解码时没有此项。</translation>
    </message>
    <message>
        <source>Decoded sound that waits for the sound device now, and over the last 20 seconds.</source>
        <translation>已解码、等待声音设备播放的声音：当前的量，以及最近 20 秒的变化。</translation>
    </message>
    <message>
        <source>Buffer</source>
        <translation>缓冲</translation>
    </message>
    <message>
        <source>Buffer over the last 20 seconds</source>
        <translation>最近 20 秒的缓冲</translation>
    </message>
    <message>
        <source>Received</source>
        <translation>接收</translation>
    </message>
    <message>
        <source>Bytes received for each second of sound.</source>
        <translation>每秒声音实际接收的字节数。</translation>
    </message>
    <message>
        <source>As PCM</source>
        <translation>若用 PCM</translation>
    </message>
    <message>
        <source>What each second of the same sound would have taken as 16-bit PCM.</source>
        <translation>同样的声音若以 16 位 PCM 传输，每秒所需的字节数。</translation>
    </message>
    <message>
        <source>Time to first audio: {0}</source>
        <translation>首音延迟：{0}</translation>
    </message>
</context>
<context>
    <name>Level</name>
    <message>
        <source>{0} %</source>
        <translation>{0}%</translation>
    </message>
</context>
<context>
    <name>MainWindow</name>
    <message>
        <source>Hello, and welcome to Nearfield. What you hear is put together on this very machine, from a thin stream of numbers: half a kilobyte for each second of speech.

Write or paste a text of your own here, and press Ctrl+Enter to hear it. The sentence that you hear is marked. Press Escape at any time, and there is silence at once.</source>
        <translation>Hello, and welcome to Nearfield. What you hear is put together on this very machine, from a thin stream of numbers: half a kilobyte for each second of speech.

Write or paste a text of your own here, and press Ctrl+Enter to hear it. The sentence that you hear is marked. Press Escape at any time, and there is silence at once.</translation>
    </message>
    <message>
        <source>Nearfield</source>
        <translation>Nearfield</translation>
    </message>
    <message>
        <source>{0} — Nearfield</source>
        <translation>{0} — Nearfield</translation>
    </message>
</context>
<context>
    <name>Notice</name>
    <message>
        <source>The text is cut after {0} characters.</source>
        <translation>文本过长，仅朗读前 {0} 个字符。</translation>
    </message>
    <message>
        <source>There is nothing to say in this text.</source>
        <translation>这段文本里没有可朗读的内容。</translation>
    </message>
    <message>
        <source>The settings were changed: what was spoken is stopped.</source>
        <translation>设置已更改，当前朗读已停止。</translation>
    </message>
    <message>
        <source>Still preparing: try again in a moment.</source>
        <translation>仍在准备，请稍后再试。</translation>
    </message>
    <message>
        <source>The server has no voice {0}: its default voice speaks instead.</source>
        <translation>服务器没有音色“{0}”，改用其默认音色。</translation>
    </message>
    <message>
        <source>Nearfield {0} can be had at {2}; this is {1}.</source>
        <translation>可从 {2} 获取 Nearfield {0}；当前版本为 {1}。</translation>
    </message>
    <message>
        <source>{0}; trying again</source>
        <translation>{0}；正在重试</translation>
    </message>
    <message>
        <source>{0}</source>
        <translation>{0}</translation>
    </message>
    <message>
        <source>the server said: {0}</source>
        <translation>服务器消息：{0}</translation>
    </message>
    <message>
        <source>the server&apos;s stream is damaged: {0} ({1})</source>
        <translation>服务器的数据流已损坏：{0}（{1}）</translation>
    </message>
    <message>
        <source>the recording stopped: {0}</source>
        <translation>录音已中止：{0}</translation>
    </message>
    <message>
        <source>the decoder&apos;s sound was mended: {0} samples were no numbers, {1} beyond full scale</source>
        <translation>已修正解码器的声音：{0} 个采样不是有效数值，{1} 个超出满幅</translation>
    </message>
    <message>
        <source>the decoder left out {0} samples</source>
        <translation>解码器少输出了 {0} 个采样</translation>
    </message>
    <message>
        <source>{0} was asked for and is not there: {1} decodes, RTF {2}</source>
        <translation>找不到指定的设备 {0}，改用 {1} 解码，实时率 {2}</translation>
    </message>
    <message>
        <source>this machine decodes slower than real time (RTF {0}): speech starts later</source>
        <translation>本机解码慢于实时（实时率 {0}），开始播放会较晚</translation>
    </message>
    <message>
        <source>{0} is a dummy sink: nobody hears anything</source>
        <translation>{0} 是虚拟输出设备，不会有声音</translation>
    </message>
</context>
<context>
    <name>OpenText</name>
    <message>
        <source>Open a text</source>
        <translation>打开文本</translation>
    </message>
    <message>
        <source>Texts ({0})</source>
        <translation>文本文件 ({0})</translation>
    </message>
    <message>
        <source>All files ({0})</source>
        <translation>所有文件 ({0})</translation>
    </message>
</context>
<context>
    <name>ProfileForm</name>
    <message>
        <source>Give it a name.</source>
        <translation>请填写名称。</translation>
    </message>
    <message>
        <source>The name is too long: 60 characters are the most.</source>
        <translation>名称太长，最多 60 个字符。</translation>
    </message>
    <message>
        <source>Another server has this name.</source>
        <translation>已有服务器使用此名称。</translation>
    </message>
    <message>
        <source>This is not a server address; it should look like ws://192.168.1.20:8001.</source>
        <translation>这不是服务器地址，格式应类似 ws://192.168.1.20:8001。</translation>
    </message>
    <message>
        <source>Leave name and password out of the address: the key has a field of its own.</source>
        <translation>地址中请不要包含用户名和密码，密钥请填入单独的输入框。</translation>
    </message>
    <message>
        <source>There are characters in it that no key has: is it the right one?</source>
        <translation>其中包含密钥不会有的字符，请检查是否正确。</translation>
    </message>
    <message>
        <source>The key would travel unencrypted. Use an address with wss://, or allow it below.</source>
        <translation>密钥将以明文传输。请使用 wss:// 地址，或在下方允许。</translation>
    </message>
    <message>
        <source>There is no such file.</source>
        <translation>文件不存在。</translation>
    </message>
    <message>
        <source>Ready, in {0} ms: it sends codec tokens, which are decoded here.</source>
        <translation>可用，用时 {0} ms：服务器发送语音 token，由本机解码。</translation>
    </message>
    <message>
        <source>Ready, in {0} ms: it decodes itself and sends finished sound.</source>
        <translation>可用，用时 {0} ms：由服务器解码，直接发送声音。</translation>
    </message>
    <message>
        <source>Ready, in {0} ms. Who decodes shows with the first text.</source>
        <translation>可用，用时 {0} ms。朗读第一段文本后即可知道由哪一方解码。</translation>
    </message>
    <message>
        <source>Calling the server…</source>
        <translation>正在连接服务器…</translation>
    </message>
    <message>
        <source>Certificate authority</source>
        <translation>证书颁发机构</translation>
    </message>
    <message>
        <source>Certificates (*.pem *.crt *.cer)</source>
        <translation>证书 (*.pem *.crt *.cer)</translation>
    </message>
    <message>
        <source>All files (*)</source>
        <translation>所有文件 (*)</translation>
    </message>
    <message>
        <source>Kept in the keyring of this desktop ({0}).</source>
        <translation>保存在系统密钥环中（{0}）。</translation>
    </message>
    <message>
        <source>Kept in {0}, a file that only you can read.</source>
        <translation>保存在 {0} 中，只有您可以读取。</translation>
    </message>
    <message>
        <source>New server</source>
        <translation>新服务器</translation>
    </message>
    <message>
        <source>Change {0}</source>
        <translation>更改 {0}</translation>
    </message>
    <message>
        <source>&amp;Name</source>
        <translation>名称(&amp;N)</translation>
    </message>
    <message>
        <source>&amp;Address</source>
        <translation>地址(&amp;A)</translation>
    </message>
    <message>
        <source>For instance ws://192.168.1.20:8001; the path may be left out.</source>
        <translation>例如 ws://192.168.1.20:8001，路径可以省略。</translation>
    </message>
    <message>
        <source>API &amp;key</source>
        <translation>API 密钥(&amp;K)</translation>
    </message>
    <message>
        <source>Show</source>
        <translation>显示</translation>
    </message>
    <message>
        <source>Show the key</source>
        <translation>显示密钥</translation>
    </message>
    <message>
        <source>Certificate authority &amp;file</source>
        <translation>证书颁发机构文件(&amp;F)</translation>
    </message>
    <message>
        <source>A PEM file to trust besides the system&apos;s authorities; for a private server.</source>
        <translation>除系统信任的证书颁发机构外，额外信任的 PEM 文件，用于私有服务器。</translation>
    </message>
    <message>
        <source>&amp;Choose…</source>
        <translation>选择(&amp;C)…</translation>
    </message>
    <message>
        <source>Send the key &amp;unencrypted, too</source>
        <translation>允许以明文发送密钥(&amp;U)</translation>
    </message>
    <message>
        <source>Only in a network that you trust: everybody on the way can read it.</source>
        <translation>仅限可信任的网络：传输途中的任何人都能读取密钥。</translation>
    </message>
    <message>
        <source>&amp;Test the connection</source>
        <translation>测试连接(&amp;T)</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>保存</translation>
    </message>
</context>
<context>
    <name>QFileDialog</name>
    <message>
        <source>&amp;Look in:</source>
        <translation>查找范围(&amp;L)：</translation>
    </message>
    <message>
        <source>Files of &amp;type:</source>
        <translation>文件类型(&amp;T)：</translation>
    </message>
</context>
<context>
    <name>QLineEdit</name>
    <message>
        <source>&amp;Undo</source>
        <translation>撤销(&amp;U)</translation>
    </message>
</context>
<context>
    <name>QShortcut</name>
    <message>
        <source>Enter</source>
        <translation>Enter</translation>
    </message>
    <message>
        <source>Return</source>
        <translation>Enter</translation>
    </message>
    <message>
        <source>Left</source>
        <translation>←</translation>
    </message>
    <message>
        <source>Right</source>
        <translation>→</translation>
    </message>
</context>
<context>
    <name>QWidgetTextControl</name>
    <message>
        <source>&amp;Undo</source>
        <translation>撤销(&amp;U)</translation>
    </message>
</context>
<context>
    <name>RecordingFields</name>
    <message>
        <source>Read by the server itself.</source>
        <translation>由服务器自行读取。</translation>
    </message>
    <message>
        <source>Recording</source>
        <translation>录音</translation>
    </message>
    <message>
        <source>Recording of the voice</source>
        <translation>用于克隆的录音</translation>
    </message>
    <message>
        <source>What is said in it</source>
        <translation>录音内容</translation>
    </message>
    <message>
        <source>What is said in the recording</source>
        <translation>录音中说的内容</translation>
    </message>
    <message>
        <source>Word for word</source>
        <translation>请逐字填写</translation>
    </message>
    <message>
        <source>Timbre only, without a text</source>
        <translation>仅用声纹，不需要录音内容</translation>
    </message>
    <message>
        <source>Sounds less like the speaker, and needs no transcript.</source>
        <translation>相似度较低，但无需填写录音内容。</translation>
    </message>
</context>
<context>
    <name>RecordingPicker</name>
    <message>
        <source>Choose a recording</source>
        <translation>选择录音</translation>
    </message>
    <message>
        <source>WAV files (*.wav *.wave)</source>
        <translation>WAV 文件 (*.wav *.wave)</translation>
    </message>
    <message>
        <source>All files (*)</source>
        <translation>所有文件 (*)</translation>
    </message>
    <message>
        <source>Let go to take this file.</source>
        <translation>松开鼠标即可使用此文件。</translation>
    </message>
    <message>
        <source>Drop a WAV file here: one voice, 1 to 30 seconds, little noise.</source>
        <translation>将 WAV 文件拖到此处：只有一个人的声音，1 至 30 秒，噪声小。</translation>
    </message>
    <message>
        <source>Choose another…</source>
        <translation>重新选择…</translation>
    </message>
    <message>
        <source>Choose a WAV file…</source>
        <translation>选择 WAV 文件…</translation>
    </message>
    <message>
        <source>Recording: {0}. Choose another</source>
        <translation>录音：{0}。重新选择</translation>
    </message>
    <message>
        <source>Choose a WAV file of a voice</source>
        <translation>选择含有人声的 WAV 文件</translation>
    </message>
</context>
<context>
    <name>Row</name>
    <message>
        <source>Given on the command line for this start. What you choose here counts from now on.</source>
        <translation>本次启动的值由命令行指定；在此更改后，以更改后的值为准。</translation>
    </message>
    <message>
        <source>Given by the environment for this start. What you choose here counts from now on.</source>
        <translation>本次启动的值由环境变量指定；在此更改后，以更改后的值为准。</translation>
    </message>
</context>
<context>
    <name>ServerPage</name>
    <message>
        <source>Server</source>
        <translation>服务器</translation>
    </message>
    <message>
        <source>Where the words become speech. The demo is built in; a server of your own brings its voices. Commands in a terminal use the last one that was chosen here.</source>
        <translation>文字在服务器上变成语音。演示是内置的，只会说英语；您自己的服务器则带有自己的音色。终端中的命令使用最近在这里选择的服务器。</translation>
    </message>
    <message>
        <source>Servers</source>
        <translation>服务器列表</translation>
    </message>
    <message>
        <source>&amp;Use</source>
        <translation>使用(&amp;U)</translation>
    </message>
    <message>
        <source>&amp;Change…</source>
        <translation>更改(&amp;C)…</translation>
    </message>
    <message>
        <source>&amp;Remove</source>
        <translation>删除(&amp;R)</translation>
    </message>
    <message>
        <source>&amp;New server…</source>
        <translation>新建服务器(&amp;N)…</translation>
    </message>
    <message>
        <source>Demo</source>
        <translation>演示</translation>
    </message>
    <message>
        <source>built in, needs no network</source>
        <translation>内置，无需网络</translation>
    </message>
    <message>
        <source>{0} (in use)</source>
        <translation>{0}（使用中）</translation>
    </message>
    <message>
        <source>This start uses {0}, as it was given. Choosing a server here ends that.</source>
        <translation>本次启动使用启动时指定的 {0}。在这里选择服务器后，改用所选的服务器。</translation>
    </message>
</context>
<context>
    <name>SettingsDialog</name>
    <message>
        <source>Settings</source>
        <translation>设置</translation>
    </message>
    <message>
        <source>Pages of the settings</source>
        <translation>设置页面</translation>
    </message>
    <message>
        <source>Server</source>
        <translation>服务器</translation>
    </message>
    <message>
        <source>Voice</source>
        <translation>音色</translation>
    </message>
    <message>
        <source>Decoder</source>
        <translation>解码器</translation>
    </message>
    <message>
        <source>Sound</source>
        <translation>音频</translation>
    </message>
    <message>
        <source>Appearance</source>
        <translation>外观</translation>
    </message>
    <message>
        <source>History and window</source>
        <translation>历史记录和窗口</translation>
    </message>
    <message>
        <source>About</source>
        <translation>关于</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
</context>
<context>
    <name>SoundSaver</name>
    <message>
        <source>Save audio</source>
        <translation>保存音频</translation>
    </message>
    <message>
        <source>WAV (*.wav)</source>
        <translation>WAV (*.wav)</translation>
    </message>
    <message>
        <source>FLAC, lossless (*.flac)</source>
        <translation>FLAC，无损 (*.flac)</translation>
    </message>
    <message>
        <source>Ogg Vorbis, small (*.ogg)</source>
        <translation>Ogg Vorbis，较小 (*.ogg)</translation>
    </message>
    <message>
        <source>Opus, smallest (*.opus)</source>
        <translation>Opus，最小 (*.opus)</translation>
    </message>
    <message>
        <source>Saved as {0}.</source>
        <translation>已保存为 {0}。</translation>
    </message>
</context>
<context>
    <name>StatusLine</name>
    <message>
        <source>Preparing the decoder…</source>
        <translation>正在准备解码器…</translation>
    </message>
    <message>
        <source>Connecting…</source>
        <translation>正在连接…</translation>
    </message>
    <message>
        <source>Waiting for the server…</source>
        <translation>正在等待服务器…</translation>
    </message>
    <message>
        <source>Buffering…</source>
        <translation>正在缓冲…</translation>
    </message>
    <message>
        <source>Speaking</source>
        <translation>正在朗读</translation>
    </message>
    <message>
        <source>Waiting for more…</source>
        <translation>正在等待后续内容…</translation>
    </message>
    <message>
        <source>Paused</source>
        <translation>已暂停</translation>
    </message>
    <message>
        <source>Finished</source>
        <translation>朗读完毕</translation>
    </message>
    <message>
        <source>Ended before all of it was spoken</source>
        <translation>未读完即结束</translation>
    </message>
    <message>
        <source>The server sent no sound</source>
        <translation>服务器没有发送声音</translation>
    </message>
    <message>
        <source>Cut off</source>
        <translation>已截断</translation>
    </message>
    <message>
        <source>Stopped</source>
        <translation>已停止</translation>
    </message>
    <message>
        <source>Failed</source>
        <translation>失败</translation>
    </message>
    <message>
        <source>Speaking, sentence {0}</source>
        <translation>正在朗读第 {0} 句</translation>
    </message>
    <message>
        <source>{0}: {1}</source>
        <translation>{0}：{1}</translation>
    </message>
    <message>
        <source>Ready. Press Ctrl+Enter to hear the text.</source>
        <translation>就绪。按 Ctrl+Enter 开始朗读。</translation>
    </message>
</context>
<context>
    <name>Transport</name>
    <message>
        <source>Unmute</source>
        <translation>取消静音</translation>
    </message>
    <message>
        <source>Mute</source>
        <translation>静音</translation>
    </message>
    <message>
        <source>System default</source>
        <translation>系统默认</translation>
    </message>
    <message>
        <source>Looking for devices…</source>
        <translation>正在查找设备…</translation>
    </message>
    <message>
        <source>No sound device was found</source>
        <translation>未找到声音设备</translation>
    </message>
    <message>
        <source>Sound goes to {0}</source>
        <translation>声音输出到 {0}</translation>
    </message>
    <message>
        <source>No sound device is open</source>
        <translation>没有打开的声音设备</translation>
    </message>
    <message>
        <source>Sound device</source>
        <translation>声音设备</translation>
    </message>
    <message>
        <source>Volume</source>
        <translation>音量</translation>
    </message>
</context>
<context>
    <name>Tray</name>
    <message>
        <source>Nearfield</source>
        <translation>Nearfield</translation>
    </message>
    <message>
        <source>Nearfield, paused: {0}</source>
        <translation>Nearfield 已暂停：{0}</translation>
    </message>
    <message>
        <source>Nearfield speaks: {0}</source>
        <translation>Nearfield 正在朗读：{0}</translation>
    </message>
</context>
<context>
    <name>UploadedList</name>
    <message>
        <source>Which voices the server has is not known now.</source>
        <translation>暂时无法得知服务器上有哪些音色。</translation>
    </message>
    <message>
        <source>No voice was uploaded yet. Choose a recording above to clone the first one.</source>
        <translation>还没有上传过音色。请在上方选择录音，克隆第一个音色。</translation>
    </message>
</context>
<context>
    <name>UploadedRow</name>
    <message>
        <source>With its text</source>
        <translation>含录音内容</translation>
    </message>
    <message>
        <source>Timbre only, without a text</source>
        <translation>仅声纹，无录音内容</translation>
    </message>
    <message>
        <source>Use</source>
        <translation>使用</translation>
    </message>
    <message>
        <source>Speak with {0}</source>
        <translation>用 {0} 朗读</translation>
    </message>
    <message>
        <source>Delete from the server</source>
        <translation>从服务器删除</translation>
    </message>
    <message>
        <source>Delete {0} from the server</source>
        <translation>从服务器删除 {0}</translation>
    </message>
    <message>
        <source>Delete “{0}” from the server for everybody?</source>
        <translation>要从服务器删除“{0}”吗？所有人都将无法再使用。</translation>
    </message>
    <message>
        <source>Keep</source>
        <translation>保留</translation>
    </message>
    <message>
        <source>Keep {0}</source>
        <translation>保留 {0}</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>删除</translation>
    </message>
    <message>
        <source>Delete {0} for everybody</source>
        <translation>为所有人删除 {0}</translation>
    </message>
</context>
<context>
    <name>VoiceBox</name>
    <message>
        <source>Choose a voice</source>
        <translation>选择音色</translation>
    </message>
    <message>
        <source>None uploaded yet</source>
        <translation>尚未上传音色</translation>
    </message>
    <message>
        <source>The server&apos;s default</source>
        <translation>服务器默认</translation>
    </message>
    <message>
        <source>Speakers</source>
        <translation>说话人</translation>
    </message>
    <message>
        <source>Uploaded</source>
        <translation>已上传</translation>
    </message>
    <message>
        <source>Name of the uploaded voice</source>
        <translation>已上传音色的名称</translation>
    </message>
    <message>
        <source>The server&apos;s default, or a name</source>
        <translation>服务器默认，或输入名称</translation>
    </message>
</context>
<context>
    <name>VoicePage</name>
    <message>
        <source>As the server likes</source>
        <translation>由服务器决定</translation>
    </message>
    <message>
        <source>Voice</source>
        <translation>音色</translation>
    </message>
    <message>
        <source>The same as beside the text, where the voices of the server can be chosen and cloned. The demo has one voice of its own.</source>
        <translation>与文本旁的音色面板相同，在面板中可以选择和克隆服务器的音色。演示只有一种自带的音色。</translation>
    </message>
    <message>
        <source>&amp;Kind of voice</source>
        <translation>音色类型(&amp;K)</translation>
    </message>
    <message>
        <source>&amp;Speaker</source>
        <translation>说话人(&amp;S)</translation>
    </message>
    <message>
        <source>A name that the server knows, such as vivian; empty: its own choice.</source>
        <translation>服务器认识的名称，例如 vivian；留空则由服务器选择。</translation>
    </message>
    <message>
        <source>&amp;Language of the text</source>
        <translation>文本的语言(&amp;L)</translation>
    </message>
    <message>
        <source>St&amp;yle</source>
        <translation>风格(&amp;Y)</translation>
    </message>
    <message>
        <source>In words, such as “slowly and warmly”. A voice described in words needs it.</source>
        <translation>用文字描述，例如“语速缓慢，语气温暖”。类型为“文字描述”的音色必须填写。</translation>
    </message>
    <message>
        <source>See&amp;d</source>
        <translation>随机种子(&amp;D)</translation>
    </message>
    <message>
        <source>A whole number, for a reading that can be repeated; empty: a new one each time.</source>
        <translation>填写整数可得到能够重现的朗读；留空则每次都不同。</translation>
    </message>
</context>
<context>
    <name>VoicePanel</name>
    <message>
        <source>The demo has one voice. Connect to a server to choose another.</source>
        <translation>演示只有一种音色，且只会说英语。连接到服务器后可以选择其他音色。</translation>
    </message>
    <message>
        <source>Asking the server which voices it has…</source>
        <translation>正在获取服务器的音色列表…</translation>
    </message>
    <message>
        <source>No list of voices. {0}</source>
        <translation>没有音色列表。{0}</translation>
    </message>
    <message>
        <source>Voice</source>
        <translation>音色</translation>
    </message>
    <message>
        <source>Ask the server for its voices again</source>
        <translation>重新获取服务器的音色列表</translation>
    </message>
</context>
<context>
    <name>VoiceWords</name>
    <message>
        <source>A speaker</source>
        <translation>说话人</translation>
    </message>
    <message>
        <source>Described in words</source>
        <translation>文字描述</translation>
    </message>
    <message>
        <source>Cloned from a recording</source>
        <translation>录音克隆</translation>
    </message>
    <message>
        <source>One of the voices built into the server&apos;s model.</source>
        <translation>服务器模型内置的音色。</translation>
    </message>
    <message>
        <source>A new voice, made after your description.</source>
        <translation>根据您的描述生成的新音色。</translation>
    </message>
    <message>
        <source>The voice of a recording, with its speaker&apos;s consent.</source>
        <translation>录音中的音色，须经说话人同意。</translation>
    </message>
    <message>
        <source>Automatic</source>
        <translation>自动</translation>
    </message>
    <message>
        <source>Chinese</source>
        <translation>中文</translation>
    </message>
    <message>
        <source>English</source>
        <translation>英语</translation>
    </message>
    <message>
        <source>Japanese</source>
        <translation>日语</translation>
    </message>
    <message>
        <source>Korean</source>
        <translation>韩语</translation>
    </message>
    <message>
        <source>German</source>
        <translation>德语</translation>
    </message>
    <message>
        <source>French</source>
        <translation>法语</translation>
    </message>
    <message>
        <source>Russian</source>
        <translation>俄语</translation>
    </message>
    <message>
        <source>Portuguese</source>
        <translation>葡萄牙语</translation>
    </message>
    <message>
        <source>Spanish</source>
        <translation>西班牙语</translation>
    </message>
    <message>
        <source>Italian</source>
        <translation>意大利语</translation>
    </message>
    <message>
        <source>Describe the voice that shall be made.</source>
        <translation>请描述要生成的音色。</translation>
    </message>
    <message>
        <source>That is more than a server takes: shorten it to 500 characters.</source>
        <translation>超出服务器的上限，请缩短到 500 个字符以内。</translation>
    </message>
    <message>
        <source>Choose an uploaded voice, or clone one from a recording.</source>
        <translation>请选择已上传的音色，或用录音克隆一个。</translation>
    </message>
    <message>
        <source>The server does not have this voice: choose another one.</source>
        <translation>服务器没有这个音色，请选择其他音色。</translation>
    </message>
    <message>
        <source>Choose a recording of 1 to 30 seconds.</source>
        <translation>请选择 1 至 30 秒的录音。</translation>
    </message>
    <message>
        <source>Write down what is said in the recording, or clone the timbre only.</source>
        <translation>请填写录音中说的内容，或选择仅用声纹。</translation>
    </message>
    <message>
        <source>Without the speaker&apos;s consent no voice is cloned.</source>
        <translation>未经说话人同意，不能克隆音色。</translation>
    </message>
    <message>
        <source>The file cannot be read.</source>
        <translation>无法读取文件。</translation>
    </message>
    <message>
        <source>This is no WAV file that can be used: save the recording as 16-bit WAV.</source>
        <translation>无法使用此 WAV 文件，请将录音另存为 16 位 WAV。</translation>
    </message>
    <message>
        <source>The recording is too short: 1 second is the least.</source>
        <translation>录音太短，至少需要 1 秒。</translation>
    </message>
    <message>
        <source>The recording is too long: cut it to 30 seconds or less.</source>
        <translation>录音太长，请剪到 30 秒以内。</translation>
    </message>
    <message>
        <source>The recording is too large: make it mono with 24 kHz, or cut it.</source>
        <translation>录音文件太大，请转换为 24 kHz 单声道，或剪短录音。</translation>
    </message>
    <message>
        <source>Give the voice a name.</source>
        <translation>请为音色取个名称。</translation>
    </message>
    <message>
        <source>The name is too long: 64 characters are the most.</source>
        <translation>名称太长，最多 64 个字符。</translation>
    </message>
    <message>
        <source>A name has letters or digits, and no slashes.</source>
        <translation>名称须含有文字或数字，且不能含有斜杠。</translation>
    </message>
    <message>
        <source>The server already has a voice of that name.</source>
        <translation>服务器上已有同名的音色。</translation>
    </message>
</context>
<context>
    <name>WaveformStrip</name>
    <message>
        <source>{0}…</source>
        <translation>{0}…</translation>
    </message>
    <message>
        <source>What is read aloud is drawn here.</source>
        <translation>朗读的波形会显示在这里。</translation>
    </message>
    <message>
        <source>Place in the reading</source>
        <translation>朗读位置</translation>
    </message>
    <message>
        <source>Click or drag to hear it from there. Left and Right go back and on by 5 seconds.</source>
        <translation>点击或拖动可从该处播放。按左、右方向键后退或前进 5 秒。</translation>
    </message>
    <message>
        <source>{0} of {1}</source>
        <translation>{0} / {1}</translation>
    </message>
</context>
<context>
    <name>WindowPage</name>
    <message>
        <source>History and window</source>
        <translation>历史记录和窗口</translation>
    </message>
    <message>
        <source>History</source>
        <translation>历史记录</translation>
    </message>
    <message>
        <source>&amp;Keep what was spoken</source>
        <translation>保留朗读过的内容(&amp;K)</translation>
    </message>
    <message>
        <source>Text and sound stay on this computer, to be found and heard again.</source>
        <translation>文本和声音保存在这台电脑上，可以随时查找和重新播放。</translation>
    </message>
    <message>
        <source>At &amp;most</source>
        <translation>最多占用(&amp;M)</translation>
    </message>
    <message>
        <source>The oldest readings go first.</source>
        <translation>超出后，最早的朗读先被删除。</translation>
    </message>
    <message>
        <source> MB</source>
        <translation> MB</translation>
    </message>
    <message>
        <source>Closing</source>
        <translation>关闭窗口</translation>
    </message>
    <message>
        <source>When the &amp;window is closed</source>
        <translation>关闭窗口时(&amp;W)</translation>
    </message>
    <message>
        <source>Ask once</source>
        <translation>询问一次</translation>
    </message>
    <message>
        <source>Stay ready in the tray</source>
        <translation>留在系统托盘中</translation>
    </message>
    <message>
        <source>Quit</source>
        <translation>退出</translation>
    </message>
</context>
<context>
    <name>_Card</name>
    <message>
        <source>Notice</source>
        <translation>提示</translation>
    </message>
    <message>
        <source>Warning</source>
        <translation>警告</translation>
    </message>
    <message>
        <source>Error</source>
        <translation>错误</translation>
    </message>
    <message numerus="yes">
        <source>{0} (%n times)</source>
        <translation>
            <numerusform>{0}（%n 次）</numerusform>
        </translation>
    </message>
    <message>
        <source>Dismiss</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Dismiss: {0}</source>
        <translation>关闭：{0}</translation>
    </message>
</context>
<context>
    <name>_Question</name>
    <message>
        <source>Remove {0} and its key?</source>
        <translation>要删除“{0}”及其密钥吗？</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>删除</translation>
    </message>
    <message>
        <source>Remove {0}</source>
        <translation>删除 {0}</translation>
    </message>
    <message>
        <source>Keep</source>
        <translation>保留</translation>
    </message>
    <message>
        <source>Keep {0}</source>
        <translation>保留 {0}</translation>
    </message>
</context>
<context>
    <name>run</name>
    <message>
        <source>Something unexpected happened at the start: {0}</source>
        <translation>启动时发生意外错误：{0}</translation>
    </message>
</context>
</TS>
