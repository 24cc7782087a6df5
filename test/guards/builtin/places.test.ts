// biome-ignore-all lint/suspicious/noTemplateCurlyInString: texts of a shell have them
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { canonicalPath, isInside, type PathFileSystem } from '../../../src/guards/builtin/places.ts'

const root = realpathSync(mkdtempSync(join(tmpdir(), 'places-')))
const at = (path: string): string => join(root, path)

beforeAll(() => {
  for (const folder of ['app/src', 'app2', 'secret/deep', 'home/.ssh']) mkdirSync(at(folder), { recursive: true })
  writeFileSync(at('secret/key'), '')
  symlinkSync(at('secret/deep'), at('app/out'))
  symlinkSync('../secret', at('app/near'))
  symlinkSync(at('secret/not-yet'), at('app/dangling'))
  symlinkSync('near/key', at('app/twice'))
  symlinkSync('circle', at('app/circle'))
  symlinkSync('/', at('app/top'))
})
afterAll(() => {
  rmSync(root, { recursive: true })
})

function place(path: string): string | undefined {
  const found = canonicalPath(path, at('app'), { home: at('home') })
  return found?.startsWith(root) ? found.slice(root.length) || '/.' : found
}

describe('the canonical path of a file', () => {
  it.each([
    ['x', '/app/x'],
    ['./src/../x', '/app/x'],
    ['src//x/', '/app/src/x'],
    ['.', '/app'],
    ['..', '/.'],
    ['../app2/x', '/app2/x'],
    ['new/folder/../x', '/app/new/x'],
    ['new/../../secret/key', '/secret/key'],
    ['near/key', '/secret/key'],
    ['twice', '/secret/key'],
    ['out', '/secret/deep'],
    ['out/../key', '/secret/key'],
    ['out/../../app2', '/app2'],
    ['dangling', '/secret/not-yet'],
    ['dangling/x', '/secret/not-yet/x'],
    ['circle', undefined],
    ['circle/x', undefined],
    ['top/etc/hosts-that-is-not', '/etc/hosts-that-is-not'],
    ['~', '/home'],
    ['~/.ssh/id', '/home/.ssh/id'],
    ['$HOME/.ssh', '/home/.ssh'],
    ['${HOME}/../secret', '/secret'],
    ['~root/x', undefined],
    ['~+/x', undefined],
    ['$HOMES/x', undefined],
    ['$PWD/x', undefined],
    ['a~/$HOME', '/app/a~/$HOME'],
    ['a%2fb', '/app/a%2fb'],
    ['%2e%2e/x', '/app/%2e%2e/x'],
    ['file:///tmp-not/a%20b', '/tmp-not/a b'],
    ['FILE:///tmp-not/%2e%2e/etc-not', '/etc-not'],
    ['file://host/x', undefined],
    ['file:///a%2fb', undefined],
    ['file:///a%00b', undefined],
    ['https://x/y', undefined],
    ['x\0y', undefined],
    ['', undefined],
    ['/'.repeat(9000), undefined],
    ['/../../etc-not', '/etc-not'],
    ['/', '/'],
    ['cafe\u0301', '/app/caf\u00e9'],
    ['x'.repeat(300), `/app/${'x'.repeat(300)}`],
  ])('is the same for %j', (path, expected) => {
    expect(place(path)).toBe(expected)
  })

  it('is that of a file URL of this machine', () => {
    expect(place(`file://${at('app/near')}/key`)).toBe('/secret/key')
  })

  it('needs the folder of the tool for a relative path, and a home for a tilde', () => {
    expect(canonicalPath('x', undefined, { home: undefined })).toBeUndefined()
    expect(canonicalPath('x', 'relative', { home: undefined })).toBeUndefined()
    expect(canonicalPath('~/x', '/', { home: undefined })).toBeUndefined()
    expect(canonicalPath('~/x', '/', { home: 'relative' })).toBeUndefined()
    expect(canonicalPath('/not-there/x', undefined, { home: undefined })).toBe('/not-there/x')
  })

  it('calls the file system in proportion to the segments', () => {
    let asked = 0
    const files: PathFileSystem = { readlink: () => void asked++, realpath: () => void asked++ }
    canonicalPath('a/'.repeat(4000), '/', { home: undefined, files })
    expect(asked).toBeLessThan(8100)
  })

  const drive: PathFileSystem = {
    readlink: path => (path === 'C:\\app\\link' ? 'D:\\other' : undefined),
    realpath: path => (path.toLowerCase() === 'c:\\progra~1' ? 'C:\\Program Files' : undefined),
  }

  it.each([
    ['x\\y/z', 'C:\\app\\x\\y\\z'],
    ['..\\..\\..\\x', 'C:\\x'],
    ['link\\x', 'D:\\other\\x'],
    ['c:\\PROGRA~1\\x', 'C:\\Program Files\\x'],
    ['C:x', undefined],
    ['file:///C:/a/b', 'C:\\a\\b'],
    ['~\\x', 'C:\\Users\\me\\x'],
  ])('is found on Windows: %j', (path, expected) => {
    const options = { home: 'C:\\Users\\me', platform: 'win32', files: drive } as const
    expect(canonicalPath(path, 'C:\\app', options)).toBe(expected)
  })
})

describe('inside', () => {
  it.each([
    ['/app', '/app', true],
    ['/app/x', '/app', true],
    ['/app/x', '/app/', true],
    ['/app2', '/app', false],
    ['/ap', '/app', false],
    ['/', '/app', false],
    ['/app', '/', true],
    ['/APP/x', '/app', false],
    ['/app/cafe\u0301/x', '/app/caf\u00e9', true],
  ])('decides for %j in %j: %j', (path, folder, expected) => {
    expect(isInside(path, folder, 'linux')).toBe(expected)
  })

  it.each([
    ['/APP/x', '/app', 'darwin', true],
    ['/App2', '/app', 'darwin', false],
    ['C:\\App\\x', 'c:\\app', 'win32', true],
    ['C:\\App2', 'c:\\app', 'win32', false],
    ['C:\\x', 'c:\\', 'win32', true],
  ] as const)('decides for %j in %j on %s: %j', (path, folder, platform, expected) => {
    expect(isInside(path, folder, platform)).toBe(expected)
  })
})
