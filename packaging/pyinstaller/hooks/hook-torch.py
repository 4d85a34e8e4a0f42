"""Instead of the hook of pyinstaller-hooks-contrib, which takes all of torch: only what imports lead to."""

from pathlib import Path

from PyInstaller.utils.hooks import get_package_paths

_FOLDER = Path(get_package_paths("torch")[1])
# Opened by name, so not found by following dependences; and a program that torch insists on seeing.
binaries = [
    *((str(path), "torch/lib") for path in _FOLDER.glob("lib/libtorch_global_deps.*")),
    *((str(path), "torch/bin") for path in _FOLDER.glob("bin/torch_shm_manager*")),
    # On Windows torch opens every library that lies there.
    *((str(path), "torch/lib") for path in _FOLDER.glob("lib/*.dll")),
]
# A second name for libtorch_cpu.so at the top would make the linker load it twice.
bindepend_symlink_suppression = ["**/torch/lib/*.so*"]
warn_on_missing_hiddenimports = False
