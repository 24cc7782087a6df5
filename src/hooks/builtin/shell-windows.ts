/** Commands of Windows, whose text a POSIX shell's grammar does not fit. */

const NAMES = new Set([
  ...[
    'cmd',
    'powershell',
    'pwsh',
    'del',
    'erase',
    'rd',
    'copy',
    'xcopy',
    'robocopy',
    'move',
    'ren',
    'attrib',
    'icacls',
  ],
  ...['takeown', 'diskpart', 'reg', 'schtasks', 'wmic', 'wscript', 'cscript', 'mshta', 'rundll32', 'regsvr32', 'iex'],
  ...['certutil', 'bitsadmin', 'vssadmin', 'bcdedit', 'iwr', 'irm', 'gci', 'ri'],
])
const PROGRAM = /\.(?:exe|bat|cmd|com|ps1|vbs|msi)$/
const CMDLET = /^[A-Z][a-z]+-[A-Z][A-Za-z]+$/
/** PowerShell takes any case; these are no tools of others, as `update-grub` is. */
const CMDLET_IN_ANY_CASE =
  /^(?:(?:remove|clear|set|new|copy|move|rename|get)-(?:item|content|childitem|itemproperty|process|location)|invoke-(?:expression|command|item|webrequest|restmethod)|start-process|stop-process|out-file)$/i
const PATH = /^(?:[A-Za-z]:\\|\\\\[\w.?-]+\\)/
const POWERSHELL_VARIABLE = /^\$env:/i

export function isWindowsCommand(name: string): boolean {
  const plain = name.toLowerCase()
  return NAMES.has(plain) || PROGRAM.test(plain) || CMDLET.test(name) || CMDLET_IN_ANY_CASE.test(name)
}

/** `text` is a word as it is written, quotes included. */
export function isWindowsWord(text: string): boolean {
  return PATH.test(text.replace(/^["']/, '')) || POWERSHELL_VARIABLE.test(text)
}

/** `rmdir /s /q`. */
export function hasWindowsSwitch(name: string, text: string): boolean {
  return /^(?:rmdir|dir)$/i.test(name) && /^\/[a-z]$/i.test(text)
}
