import { chmodSync, lstatSync, mkdirSync, readlinkSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { InitScene } from './init-scene.ts'

const FILE = '.openclaw/openclaw.json'
const BACKUP = `${FILE}.hookspan-backup`
const ENTRY = { enabled: true, hooks: { allowConversationAccess: true } }

let scene: InitScene
beforeEach(() => {
  scene = new InitScene()
})
afterEach(() => scene.remove())

const config = () => JSON.parse(scene.read(FILE))
const files = () => scene.names().filter(name => name !== dirname(FILE))
const json = (value: unknown, indent: string | number = 2) => `${JSON.stringify(value, null, indent)}\n`

/** As a user of some time has it. */
const USED = {
  gateway: { mode: 'local', auth: { token: 'geheim-1' } },
  plugins: {
    load: { paths: ['~/mine'] },
    entries: { voice: { enabled: true, config: { apiKey: 'geheim-2' } } },
  },
  meta: { version: '2026.9.6' },
}

describe('hookspan init openclaw', () => {
  test('writes a missing configuration, and removes it again', async () => {
    const { code, stdout, stderr } = await scene.init(['openclaw'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(scene.read(FILE)).toBe(json({ plugins: { load: { paths: [scene.folder] }, entries: { hookspan: ENTRY } } }))
    expect([scene.mode('.openclaw'), scene.mode(FILE)]).toEqual(['700', '600'])
    expect(stdout).toMatch(/allowConversationAccess lets hookspan read prompts and answers.*fewer attributes/)
    expect(stdout).toContain(`${scene.path('.openclaw')} did not exist before. Is OpenClaw installed, for this user?`)
    expect((await scene.init(['openclaw', '--undo'])).stdout).not.toContain('installed')
    expect(scene.names()).toEqual([])
  })

  test('adds to an existing one, and keeps the rest', async () => {
    scene.put(FILE, json(USED))
    const { code, stdout } = await scene.init(['openclaw'])
    expect(code).toBe(0)
    const { plugins } = USED
    expect(config()).toEqual({
      ...USED,
      plugins: { load: { paths: ['~/mine', scene.folder] }, entries: { ...plugins.entries, hookspan: ENTRY } },
    })
    expect(scene.read(FILE)).toBe(json(config()))
    expect(scene.read(BACKUP)).toBe(json(USED))
    expect(stdout).toContain(`Backup: ${scene.path(BACKUP)}\n`)
    expect(stdout.startsWith(`${scene.path(FILE)}\n`)).toBe(true)
    expect(stdout).toContain(`+         "${scene.folder}"\n`)
    expect(stdout).not.toContain('geheim')
  })

  test('has nothing to do the second time', async () => {
    scene.put(FILE, json(USED))
    await scene.init(['openclaw'])
    const before = [scene.read(FILE), scene.read(BACKUP), files()]
    const { code, stdout } = await scene.init(['openclaw'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^Nothing to do: OpenClaw loads hookspan already \(.*\)\.\n/)
    expect([scene.read(FILE), scene.read(BACKUP), files()]).toEqual(before)
  })

  test.each([
    ['two spaces', json(USED)],
    ['tabs', json(USED, '\t')],
    ['one line', JSON.stringify(USED)],
    ['carriage returns', json(USED).replaceAll('\n', '\r\n')],
    ['a byte order mark', `\uFEFF${json(USED)}`],
    ['no newline at the end', json(USED).trimEnd()],
    ['lists in one line', json(USED).replace(/\[\s+("~\/mine")\s+\]/, '[$1]')],
    ['braces with nothing in them', '{\n  "plugins": {},\n  "x": [ ]\n}'],
    ['odd spaces', '{ "a" :1 ,\n   "plugins":{ "load" : {}\n} }'],
  ])('keeps the format: %s', async (_, text) => {
    scene.put(FILE, text)
    expect((await scene.init(['openclaw'])).code).toBe(0)
    const edited = scene.read(FILE).replace(/^\uFEFF/, '')
    expect(JSON.parse(edited).plugins.entries.hookspan).toEqual(ENTRY)
    expect(edited.includes('\r\n')).toBe(text.includes('\r\n'))
    expect(/[^\r]\n/.test(edited)).toBe(/[^\r]\n/.test(text))
    expect(edited.endsWith('\n')).toBe(text.endsWith('\n'))
    const left = edited.split('\n')
    expect(
      text
        .replace(/^\uFEFF/, '')
        .split('\n')
        .filter(line => !left.includes(line) && !left.includes(`${line},`)).length,
    ).toBeLessThan(4)
    const { stdout } = await scene.init(['openclaw', '--undo'])
    expect(stdout).toContain('byte by byte')
    expect(scene.read(FILE)).toBe(text)
    expect(files()).toEqual([FILE])
  })

  test("keeps the user's settings in an entry of ours", async () => {
    const own = { enabled: false, config: { x: 1 }, hooks: { timeoutMs: 5 } }
    scene.put(FILE, json({ plugins: { entries: { hookspan: own } } }))
    await scene.init(['openclaw'])
    expect(config().plugins.entries.hookspan).toEqual({
      enabled: true,
      config: { x: 1 },
      hooks: { timeoutMs: 5, allowConversationAccess: true },
    })
  })

  test('keeps a denied conversation access', async () => {
    scene.put(FILE, json({ plugins: { entries: { hookspan: { hooks: { allowConversationAccess: false } } } } }))
    const { stdout } = await scene.init(['openclaw'])
    expect(config().plugins.entries.hookspan).toEqual({ hooks: { allowConversationAccess: false }, enabled: true })
    expect(stdout).toContain('stays false, as you have set it')
    expect((await scene.init(['openclaw'])).stdout).toMatch(/^Nothing to do.*\n.*stays false/)
  })

  test.each([
    [undefined, undefined],
    [[], []],
    [['voice'], ['voice', 'hookspan']],
    [
      ['hookspan', 'voice'],
      ['hookspan', 'voice'],
    ],
  ])('changes a list of allowed plugins from %j to %j', async (allow, becomes) => {
    scene.put(FILE, json({ plugins: { allow } }))
    await scene.init(['openclaw'])
    expect(config().plugins.allow).toEqual(becomes)
  })

  test.each([
    [{ plugins: { deny: ['hookspan'] } }, 'plugins.deny there names hookspan; take it out of that list first'],
    [
      { plugins: { enabled: false } },
      'plugins.enabled is false there: OpenClaw loads no plugin at all; set it to true first',
    ],
    [{ plugins: { load: { paths: 'x' } } }, 'plugins.load.paths is not a list'],
    [{ plugins: null }, 'plugins is not an object'],
    [[], 'the whole is not an object'],
  ])('leaves %j to the user', async (value, why) => {
    scene.put(FILE, json(value))
    const { code, stdout, stderr } = await scene.init(['openclaw'])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toBe(`hookspan init: ${scene.path(FILE)} stays as it is: ${why}\n`)
    expect(scene.read(FILE)).toBe(json(value))
    expect(files()).toEqual([FILE])
  })

  test('follows a hookspan that has moved', async () => {
    const old = [scene.install('old/hookspan'), '/gone/node_modules/hookspan']
    scene.put(FILE, json({ plugins: { load: { paths: ['/a', ...old, '/b'] } } }))
    await scene.init(['openclaw'])
    expect(config().plugins.load.paths).toEqual(['/a', scene.folder, '/b'])
    await scene.init(['openclaw'], { folder: old[0] as string })
    expect(config().plugins.load.paths).toEqual(['/a', old[0], '/b'])
  })

  test.each([
    ['', 'line 1, column 1: invalid end of input'],
    ['{\n  "a": 1,\n  "b": [1 2]\n}\n', "line 3, column 11: invalid character '2'"],
    ['{ "a": 1', 'line 1, column 9: invalid end of input'],
    ['{ "a": tru }', "line 1, column 11: invalid character ' '"],
    ['{} {}', "line 1, column 4: invalid character '{'"],
  ])('reports the position in the broken %j', async (text, where) => {
    scene.put(FILE, text)
    for (const undo of [[], ['--undo']]) {
      const { code, stdout, stderr } = await scene.init(['openclaw', ...undo])
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toBe(`hookspan init: ${scene.path(FILE)}, ${where}; it stays as it is\n`)
    }
    expect(scene.read(FILE)).toBe(text)
    expect(files()).toEqual([FILE])
  })

  test('reads no file that is not UTF-8', async () => {
    scene.put(FILE, '')
    const { writeFileSync } = await import('node:fs')
    writeFileSync(scene.path(FILE), Buffer.from([0x7b, 0xff, 0x7d]))
    expect((await scene.init(['openclaw'])).stderr).toBe(
      `hookspan init: cannot read ${scene.path(FILE)}: it is not UTF-8\n`,
    )
  })

  test('keeps mode and link, and the backup has the mode', async () => {
    const target = scene.put('dotfiles/claw.json', json(USED), 0o640)
    chmodSync(target, 0o640)
    mkdirSync(dirname(scene.path(FILE)))
    symlinkSync('../dotfiles/claw.json', scene.path(FILE))
    expect((await scene.init(['openclaw'])).code).toBe(0)
    expect(readlinkSync(scene.path(FILE))).toBe('../dotfiles/claw.json')
    expect(lstatSync(target).isFile()).toBe(true)
    expect(scene.read(FILE)).toContain('"hookspan"')
    expect(scene.mode('dotfiles/claw.json')).toBe('640')
    expect(scene.mode('dotfiles/claw.json.hookspan-backup')).toBe('640')
    await scene.init(['openclaw', '--undo'])
    expect(scene.read('dotfiles/claw.json')).toBe(json(USED))
    expect(readlinkSync(scene.path(FILE))).toBe('../dotfiles/claw.json')
  })

  test('writes the file that a link leads to, though it is not there yet', async () => {
    mkdirSync(scene.path('.openclaw'))
    symlinkSync('../dotfiles/claw.json', scene.path(FILE))
    expect((await scene.init(['openclaw'])).code).toBe(0)
    expect(scene.read('dotfiles/claw.json')).toContain('"hookspan"')
  })

  test('never overwrites a backup', async () => {
    scene.put(FILE, json(USED))
    await scene.init(['openclaw'])
    scene.put(FILE, json({ ...USED, later: 1 }))
    const { stdout } = await scene.init(['openclaw'])
    expect(stdout).toContain(`${scene.path(BACKUP)}-2\n`)
    expect(scene.read(BACKUP)).toBe(json(USED))
    expect(scene.read(`${BACKUP}-2`)).toBe(json({ ...USED, later: 1 }))
    await scene.init(['openclaw', '--undo'])
    expect(files()).toEqual([FILE, BACKUP])
  })

  test('writes nothing with --print', async () => {
    scene.put(FILE, json(USED))
    const { code, stdout, stderr } = await scene.init(['openclaw', '--print'])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual({ plugins: { load: { paths: [scene.folder] }, entries: { hookspan: ENTRY } } })
    expect(stderr).toMatch(
      /openclaw\.json: to be merged into that file; a list plugins\.allow there has to name hookspan/,
    )
    expect(scene.read(FILE)).toBe(json(USED))
    expect(files()).toEqual([FILE])
  })

  test('prints one object with --json', async () => {
    scene.put(FILE, json(USED))
    const { stdout } = await scene.init(['openclaw', '--json'])
    const done = { host: 'openclaw', file: scene.path(FILE), changed: true, backup: scene.path(BACKUP) }
    expect(JSON.parse(stdout)).toEqual(done)
    expect(JSON.parse((await scene.init(['openclaw', '--json'])).stdout)).toEqual({
      ...done,
      changed: false,
      backup: null,
    })
  })

  test('finds the file as OpenClaw does', async () => {
    await scene.init(['openclaw'], { env: { OPENCLAW_STATE_DIR: '~/state' } })
    await scene.init(['openclaw'], {
      env: { OPENCLAW_STATE_DIR: '~/state', OPENCLAW_CONFIG_PATH: scene.path('c.json') },
    })
    await scene.init(['openclaw'], { env: { OPENCLAW_HOME: scene.path('other') } })
    await scene.init(['openclaw'], { env: { OPENCLAW_CONFIG_PATH: scene.path('d.json') }, home: '' })
    const found = scene.names().filter(name => name.endsWith('.json'))
    expect(found).toEqual(['c.json', 'd.json', 'other/.openclaw/openclaw.json', 'state/openclaw.json'])
  })

  test('reports in one line that it cannot write', async () => {
    scene.put('.openclaw', '')
    const { code, stderr } = await scene.init(['openclaw'])
    expect(code).toBe(1)
    expect(stderr).toBe(`hookspan init: cannot read ${scene.path(FILE)}: a part of the path is not a directory\n`)
  })
})

describe('hookspan init openclaw --undo', () => {
  const undo = (...args: string[]) => scene.init(['openclaw', '--undo', ...args])

  test('removes only our part of a file that has changed since', async () => {
    scene.put(FILE, json({ ...USED, plugins: { ...USED.plugins, allow: ['voice'] } }))
    await scene.init(['openclaw'])
    const later = config()
    later.plugins.load.paths.push('/later')
    later.plugins.allow.push('later')
    later.plugins.entries.later = { enabled: true }
    scene.put(FILE, json(later))
    const { code, stdout } = await undo()
    expect(code).toBe(0)
    expect(config()).toEqual({
      ...USED,
      plugins: {
        allow: ['voice', 'later'],
        load: { paths: ['~/mine', '/later'] },
        entries: { ...USED.plugins.entries, later: { enabled: true } },
      },
    })
    expect(scene.read(FILE)).toBe(json(config()))
    expect(stdout).toContain('Done: OpenClaw no longer loads hookspan.')
    expect(scene.read(`${BACKUP}-2`)).toBe(json(later))
  })

  test('leaves no empty braces of ours', async () => {
    scene.put(FILE, json({ a: 1 }))
    await scene.init(['openclaw'])
    scene.put(FILE, json({ ...config(), b: 2 }))
    await undo()
    expect(scene.read(FILE)).toBe(json({ a: 1, b: 2 }))
  })

  test("leaves the user's additions to our entry", async () => {
    scene.put(FILE, json({ plugins: { entries: { hookspan: { ...ENTRY, config: { x: 1 } } } } }))
    await undo()
    expect(config()).toEqual({ plugins: { entries: { hookspan: { config: { x: 1 } } } } })
  })

  test('does not empty the list of allowed plugins, which would allow all', async () => {
    scene.put(FILE, json({ plugins: { allow: ['hookspan'], entries: { hookspan: ENTRY } } }))
    const { stdout } = await undo()
    expect(config()).toEqual({ plugins: { allow: ['hookspan'] } })
    expect(stdout).toContain('plugins.allow still names hookspan')
  })

  test.each([[undefined], [json(USED)], ['{ /* mine */ }']])('has nothing to do in %j', async text => {
    if (text !== undefined) scene.put(FILE, text)
    const before = scene.names()
    const { code, stdout } = await undo()
    expect(code).toBe(0)
    expect(stdout).toMatch(/^Nothing to do: OpenClaw does not load hookspan from there \(.*\)\.\n$/)
    expect(scene.names()).toEqual(before)
  })

  test('shows the removed part with --print', async () => {
    scene.put(FILE, json(USED))
    await scene.init(['openclaw'])
    const before = scene.read(FILE)
    const { stdout } = await undo('--print')
    expect(stdout).toContain(`-         "${scene.folder}"\n`)
    expect(scene.read(FILE)).toBe(before)
  })
})

describe('a configuration in JSON5', () => {
  const COMMENTED = `// mine
{
  gateway: { mode: 'local', },
  plugins: {
    load: { paths: ['~/mine'] }, // and more
    allow: ["voice"],
    entries: {
      voice: { enabled: true },
    },
  },
}
`

  test('stays as it is; the lines are for the user', async () => {
    scene.put(FILE, COMMENTED)
    const { code, stdout, stderr } = await scene.init(['openclaw'])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^hookspan init: .* stays as it is: it is JSON5, .*; please change it by hand\n$/)
    expect(stdout).toBe(
      [
        `${scene.path(FILE)}: add to plugins.load.paths:`,
        `  "${scene.folder}"`,
        `${scene.path(FILE)}: add to plugins.entries:`,
        '  "hookspan": {',
        '    "enabled": true,',
        '    "hooks": {',
        '      "allowConversationAccess": true',
        '    }',
        '  }',
        `${scene.path(FILE)}: add to plugins.allow:`,
        '  "hookspan"',
        '',
      ].join('\n'),
    )
    expect(scene.read(FILE)).toBe(COMMENTED)
    expect(files()).toEqual([FILE])
    const { todo } = JSON.parse((await scene.init(['openclaw', '--json'])).stdout)
    expect(todo).toEqual(stdout.trimEnd().split('\n'))
  })

  test('makes one block of changes to one place', async () => {
    scene.put(FILE, '{ /* nothing */ x: 1 }')
    const { stdout } = await scene.init(['openclaw'])
    const [where, ...block] = stdout.trimEnd().split('\n')
    expect(where).toBe(`${scene.path(FILE)}: add to the outermost braces:`)
    expect(JSON.parse(`{${block.join('\n')}}`)).toEqual({
      plugins: { load: { paths: [scene.folder] }, entries: { hookspan: ENTRY } },
    })
  })

  test('is done once the user has done it', async () => {
    const paths = `["~/mine", '${join(scene.folder, '..', 'hookspan/')}']`
    const entry = 'hookspan: { enabled: true, hooks: { allowConversationAccess: true } },'
    scene.put(
      FILE,
      COMMENTED.replace("['~/mine']", paths)
        .replace('voice: {', `${entry}\n voice: {`)
        .replace('["voice"]', '["voice", "hookspan"]'),
    )
    expect((await scene.init(['openclaw'])).stdout).toMatch(/^Nothing to do: OpenClaw loads hookspan already/)
    const { code, stdout } = await scene.init(['openclaw', '--undo'])
    expect(code).toBe(1)
    expect(stdout.split('\n')).toEqual([
      `${scene.path(FILE)}: take out plugins.load.paths[1]`,
      `${scene.path(FILE)}: take out plugins.entries.hookspan`,
      `${scene.path(FILE)}: take out plugins.allow[1]`,
      '',
    ])
  })

  test('names the needed change', async () => {
    const entry =
      '{ plugins: { load: { paths: ["/old/node_modules/hookspan"] }, entries: { hookspan: {\n enabled: false, hooks: { allowConversationAccess: true } } } } }'
    scene.put(FILE, entry)
    const { stdout } = await scene.init(['openclaw'])
    expect(stdout).toBe(
      `${scene.path(FILE)}: change plugins.load.paths[0] to "${scene.folder}"\n${scene.path(FILE)}: change plugins.entries.hookspan.enabled to true\n`,
    )
  })

  test.each([
    ['{ "gateway": { "id": 12345678901234567890 } }', '"id": 12345678901234567890'],
    ['// mine\n{\n  "gateway": {}, // of a gateway\n}\n', '// mine\n{\n  "gateway": {}, // of a gateway\n'],
  ])('edits JSON with comments and keeps the rest of %j to the byte', async (text, kept) => {
    scene.put(FILE, text)
    expect((await scene.init(['openclaw'])).code).toBe(0)
    expect(scene.read(FILE)).toContain(kept)
    expect(scene.read(FILE)).toContain(scene.folder)
    expect((await scene.init(['openclaw', '--undo'])).stdout).toContain('byte by byte')
    expect(scene.read(FILE)).toBe(text)
  })

  test('leaves a duplicate name to the user', async () => {
    const text = '{\n  "plugins": 1,\n  "x": 1,\n  "plugins": {}\n}\n'
    scene.put(FILE, text)
    const { code, stderr } = await scene.init(['openclaw'])
    expect(code).toBe(1)
    expect(stderr).toContain(
      'stays as it is: "plugins" is in it more than once (line 2 and 4); please change it by hand',
    )
    expect(scene.read(FILE)).toBe(text)
  })

  test('leaves a configuration that includes others to the user', async () => {
    scene.put(FILE, json({ plugins: { $include: './plugins.json5' } }))
    const { code, stderr } = await scene.init(['openclaw'])
    expect(code).toBe(1)
    expect(stderr).toContain('it includes other files ($include); please change it by hand')
    expect(config()).toEqual({ plugins: { $include: './plugins.json5' } })
  })
})
