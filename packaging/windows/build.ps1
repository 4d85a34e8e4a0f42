# Builds the bundle on Windows 10 or 11 (x86-64), in an environment of its own. Not run so far: see README.md.
#   packaging\windows\build.ps1              build\bundle\nearfield, and a .zip with its checksum
# Needs Python 3.10 to 3.13 from python.org on the path. NEARFIELD_BUILD names another folder than build\bundle.
$ErrorActionPreference = 'Stop'
Set-StrictMode -Version 3.0
$root = (Resolve-Path (Join-Path $PSScriptRoot '..\..')).Path
Set-Location $root
$spec = Join-Path $root 'packaging\pyinstaller'
if (-not $env:NEARFIELD_BUILD) { $env:NEARFIELD_BUILD = Join-Path $root 'build\bundle' }
$build = $env:NEARFIELD_BUILD
# Texts are UTF-8 on every system.
$env:PYTHONUTF8 = '1'
$env:PYTHONHASHSEED = '1'
if (-not $env:SOURCE_DATE_EPOCH) { $env:SOURCE_DATE_EPOCH = (git log -1 --format=%ct) }

function Invoke-Checked {
    # What PowerShell does not do by itself: end where a program fails.
    param([string]$Program, [Parameter(ValueFromRemainingArguments)][string[]]$Rest)
    & $Program @Rest
    if ($LASTEXITCODE -ne 0) { throw "$Program $Rest ended with $LASTEXITCODE" }
}

New-Item -ItemType Directory -Force $build | Out-Null
Invoke-Checked python -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))'
$venv = Join-Path $build 'venv'
Invoke-Checked python -m venv --clear $venv
$python = Join-Path $venv 'Scripts\python.exe'
# PyPI's torch for Windows is the one for CPUs.
Invoke-Checked $python -m pip --disable-pip-version-check --quiet install -c packaging\constraints.txt `
    -c "$spec\requirements.lock" -r "$spec\requirements.txt" '.[gui,kiosk]'
Invoke-Checked $python -c 'import sys, torch; sys.exit(torch.version.cuda is not None)'
# Our own code as others install it: a wheel, whose metadata has name and version.
Invoke-Checked $python -m pip --disable-pip-version-check --quiet install --no-deps --force-reinstall .

Invoke-Checked $python "$spec\icons.py" (Join-Path $build 'nearfield.ico')
$dist = Join-Path $build 'made'
Invoke-Checked $python -m PyInstaller --noconfirm --log-level WARN --distpath $dist --workpath (Join-Path $build 'work') `
    "$spec\nearfield.spec"
$bundle = Join-Path $dist 'nearfield'
Invoke-Checked $python "$spec\contents.py" $bundle (Join-Path $build 'inside.json')
$done = Join-Path $build 'nearfield'
if (Test-Path $done) { Remove-Item -Recurse -Force $done }
Move-Item $bundle $done
Invoke-Checked $python "$spec\contents.py" --sizes $done

$version = (& (Join-Path $done 'nearfield-cli.exe') --version).Split(' ')[1]
$archive = Join-Path $build "nearfield-$version-windows-x86_64.zip"
if (Test-Path $archive) { Remove-Item $archive }
Compress-Archive -Path $done -DestinationPath $archive
$sum = (Get-FileHash -Algorithm SHA256 $archive).Hash.ToLower()
# As sha256sum reads it: no carriage return.
[IO.File]::WriteAllText("$archive.sha256", "$sum  $(Split-Path -Leaf $archive)`n")
Write-Output "build: $archive; try it with packaging\windows\smoke.ps1"
