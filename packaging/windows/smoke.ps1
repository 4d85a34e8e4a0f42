# Tries a finished bundle on Windows: from another folder with spaces in its name. Not run so far: see README.md.
#   packaging\windows\smoke.ps1 [BUNDLE]      left out: build\bundle\nearfield
# Every line says what was tried; the exit code is 0 if all went well.
param([string]$Bundle = (Join-Path $PSScriptRoot '..\..\build\bundle\nearfield'))
$ErrorActionPreference = 'Stop'
Set-StrictMode -Version 3.0
$script:failed = 0
$room = Join-Path ([IO.Path]::GetTempPath()) "nearfield smoke $PID"
New-Item -ItemType Directory -Force $room | Out-Null
Copy-Item -Recurse (Resolve-Path $Bundle).Path (Join-Path $room 'nearfield')
$cli = Join-Path $room 'nearfield\nearfield-cli.exe'
$window = Join-Path $room 'nearfield\nearfield.exe'
$env:PATH = "$env:SystemRoot\System32;$env:SystemRoot"
Get-ChildItem Env: | Where-Object { $_.Name -like 'PYTHON*' -or $_.Name -like 'NEARFIELD_*' } | ForEach-Object { Remove-Item "Env:$($_.Name)" }
# The settings and the history of whoever tries this stay as they are.
$env:APPDATA = $env:LOCALAPPDATA = $room
Set-Location $room

function Confirm-That {
    param([string]$What, [bool]$Well)
    if ($Well) { Write-Output "ok      $What" } else { Write-Output "FAILED  $What"; $script:failed = 1 }
}

$about = & $cli --version --json | ConvertFrom-Json
Confirm-That 'version: the frozen one' ($LASTEXITCODE -eq 0 -and $about.frozen)
& $cli --self-test
Confirm-That 'self-test' ($LASTEXITCODE -eq 0)
$wav = Join-Path $room 'demo.wav'
& $cli say --demo --no-play -o $wav 'Hello and welcome to Nearfield.'
Confirm-That 'say --demo' ($LASTEXITCODE -eq 0)
# Its header's count of bytes: 49920 samples of 16 bits.
$samples = if (Test-Path $wav) { [BitConverter]::ToUInt32([IO.File]::ReadAllBytes($wav), 40) / 2 } else { 0 }
Confirm-That "the recorded sentence is 49920 samples: $samples" ($samples -eq 49920)
& $cli say --server ws://127.0.0.1:1 --patience 0 --no-play -o (Join-Path $room 'x.wav') Hello
Confirm-That "without a server: exit code $LASTEXITCODE" ($LASTEXITCODE -eq 2)
'Hello and welcome to Nearfield.' | & $cli --no-gui --demo --json
Confirm-That "the end of its input ends the kiosk: exit code $LASTEXITCODE" ($LASTEXITCODE -eq 0)

# A windowed program is not waited for by the shell.
$process = Start-Process -FilePath $window -ArgumentList '--demo', '--profile-startup' -PassThru
if (-not $process.WaitForExit(120000)) { $process.Kill() }
Confirm-That "the window opens, gets ready and ends: exit code $($process.ExitCode)" ($process.ExitCode -eq 0)

$wrong = 0
foreach ($line in Get-Content (Join-Path $room 'nearfield\SHA256SUMS')) {
    $sum, $name = $line -split '  ', 2
    if ((Get-FileHash -Algorithm SHA256 (Join-Path $room "nearfield\$name")).Hash.ToLower() -ne $sum) { $wrong++ }
}
Confirm-That "all files have their checksums: $wrong have not" ($wrong -eq 0)
$unwanted = @(Get-ChildItem -Recurse (Join-Path $room 'nearfield') -Include '*piper*', '*espeak*', '*joe_us*', '*cudart*', '*.h', '*.pyi')
Confirm-That "nothing inside that must not be: $unwanted" ($unwanted.Count -eq 0)
Set-Location ([IO.Path]::GetTempPath())
Remove-Item -Recurse -Force $room
exit $script:failed
