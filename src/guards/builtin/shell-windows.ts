/** Windows commands, which a POSIX shell grammar cannot parse. */

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
/** PowerShell ignores case. These names collide with no other tools, unlike `update-grub`. */
const CMDLET_IN_ANY_CASE =
  /^(?:(?:remove|clear|set|new|copy|move|rename|get)-(?:item|content|childitem|itemproperty|process|location)|invoke-(?:expression|command|item|webrequest|restmethod)|start-process|stop-process|out-file)$/i
const PATH = /^(?:[A-Za-z]:\\|\\\\[\w.?-]+\\)/
const POWERSHELL_VARIABLE = /^\$env:/i

export function isWindowsCommand(name: string): boolean {
  const plain = name.toLowerCase()
  return NAMES.has(plain) || PROGRAM.test(plain) || CMDLET.test(name) || CMDLET_IN_ANY_CASE.test(name)
}

/** @param text a word as written, including quotes */
export function isWindowsWord(text: string): boolean {
  return PATH.test(text.replace(/^["']/, '')) || POWERSHELL_VARIABLE.test(text)
}

/** Matches `rmdir /s /q`. */
export function hasWindowsSwitch(name: string, text: string): boolean {
  return /^(?:rmdir|dir)$/i.test(name) && /^\/[a-z]$/i.test(text)
}
