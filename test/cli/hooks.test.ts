import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { hooksOf } from '../../src/cli/commands/hooks.ts'
import { blocker, HooksScene } from '../guards/hooks-scene.ts'
import { fakeIo } from './fake-io.ts'
import { fixture } from './program.ts'

interface Answer {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** As the command says it, with `~` for the home directory. */
async function run(
  scene: HooksScene,
  args: readonly string[],
  typed?: string,
  folder = scene.project,
): Promise<Answer> {
  const input = Object.assign(Readable.from(typed === undefined ? [] : [typed]), { isTTY: typed !== undefined })
  const io = { ...fakeIo({ home: scene.home }), stdin: input }
  const code = await hooksOf(() => folder).run([...args], io)
  const [out, err] = [io.written.stdout, io.written.stderr].map(text => text.replaceAll(scene.home, '~'))
  return { code, out: out ?? '', err: err ?? '' }
}

function configure(scene: HooksScene, yaml: string): void {
  scene.put(join(scene.home, '.config', 'hookspan'), { 'config.yaml': yaml })
}

const TWO = `export default [
  { name: 'late', priority: 300, afterTool() {} },
  { name: 'early', priority: 5, decisions: ['ask', 'block'], onFailure: 'block', beforeTurn() {}, beforeTool() {} },
]
`

describe('the list', () => {
  test('shows the folder for hooks if there are none', async () => {
    expect(await run(new HooksScene(), [])).toEqual({
      code: 0,
      out: `Your folder:     ~/.config/hookspan/hooks (does not exist)
Of the project:  ~/project/.hookspan/hooks (does not exist)

No hooks are loaded.
`,
      err: '',
    })
  })

  test('reports that the configuration cannot be read', async () => {
    const scene = new HooksScene()
    configure(scene, 'hooks: {global_dir: /srv/hooks}\nsample_rate:\t[\n')
    expect((await run(scene, [])).err).toMatch(/^hookspan: config: ~\/\.config\/hookspan\/config\.yaml: .*\n$/)
  })

  test('lists loaded hooks with their origin, in their order', async () => {
    const scene = new HooksScene()
    scene.put(scene.globalFolder, { 'a.mjs': blocker('a'), 'b.mjs': TWO })
    scene.put(scene.projectFolder, { 'c.mjs': blocker('c') })
    expect(await run(scene, [])).toEqual({
      code: 0,
      out: `Your folder:     ~/.config/hookspan/hooks
Of the project:  ~/project/.hookspan/hooks (not loaded: hooks.project_local is off)

  priority  hook   phases                 decides    failing  from
  5         early  beforeTurn beforeTool  ask block  block    ~/.config/hookspan/hooks/b.mjs
  200       a      beforeTool             block      pass     ~/.config/hookspan/hooks/a.mjs
  300       late   afterTool              block      pass     ~/.config/hookspan/hooks/b.mjs

Lower priority runs first before an action, and last after it. Guards that rewrite or inject run before the others.
`,
      err: '',
    })
  })

  test("names the caller of a project's hooks: not the receiver", async () => {
    const scene = new HooksScene()
    configure(scene, 'hooks: {project_local: true}\n')
    scene.put(scene.globalFolder, { 'a.mjs': blocker('a') })
    scene.put(scene.projectFolder, { 'c.mjs': blocker('c') })
    await run(scene, ['trust', '-y'])
    // In a shell the folder may be called by a link to it.
    const link = join(scene.home, 'link')
    symlinkSync(scene.project, link)
    for (const folder of [scene.project, link]) {
      const { code, out } = await run(scene, [], undefined, folder)
      expect(code).toBe(0)
      expect(out.split('\n').slice(-6)).toEqual([
        '  200       a     beforeTool  block    pass     ~/.config/hookspan/hooks/a.mjs',
        '  200       c     beforeTool  block    pass     ~/project/.hookspan/hooks/c.mjs',
        '',
        'Lower priority runs first before an action, and last after it. Guards that rewrite or inject run before the others.',
        'Guards of the project run only in programs that call loadHooks({ project }), not in the receiver.',
        '',
      ])
    }
  })

  test('reports hooks that should be loaded and are not, as a failure', async () => {
    const scene = new HooksScene()
    configure(scene, 'hooks: {project_local: true, time_limit_ms: soon}\n')
    scene.put(scene.globalFolder, { 'a.mjs': "throw new Error('no luck')\n" })
    scene.put(scene.projectFolder, { 'c.mjs': blocker('c') })
    const { code, out, err } = await run(scene, [])
    expect(code).toBe(1)
    expect(out).toContain('No hooks are loaded.')
    expect(err.split('\n')).toEqual([
      'hookspan: config: hooks.time_limit_ms: expected a number ≥ 1, got "soon" (config.yaml line 1); leaving it out',
      'hookspan: hooks: ~/.config/hookspan/hooks/a.mjs is not loaded: no luck; fix it, or remove it from the folder',
      'hookspan: hooks: ~/project/.hookspan/hooks is not loaded: it is not trusted; review it, then run: hookspan hooks trust',
      '',
    ])
  })

  test('is empty with hooks: false', async () => {
    const scene = new HooksScene()
    configure(scene, 'hooks: false\n')
    scene.put(scene.globalFolder, { 'a.mjs': blocker('a') })
    expect(await run(scene, [])).toMatchObject({ code: 0, out: expect.stringContaining('none is configured') })
  })
})

describe('trust', () => {
  const SHOWN =
    /^~\/project\/\.hookspan\/hooks\n {2}file +size\n {2}a\.mjs +\d\d bytes\n {2}lib\/shared\.mjs +0 bytes\n\nSHA-256 of the names and contents of 2 files: [0-9a-f]{64}\n$/

  function scene(): HooksScene {
    const made = new HooksScene()
    configure(made, 'hooks: {project_local: true}\n')
    made.put(made.projectFolder, { 'a.mjs': blocker('a'), 'lib/shared.mjs': '' })
    return made
  }

  test('shows its content, and asks', async () => {
    const here = scene()
    const no = await run(here, ['trust'], 'n\n')
    expect(no.code).toBe(1)
    expect(no.out).toMatch(SHOWN)
    expect(no.err).toBe(
      '\nYour programs that call loadHooks({ project }) here will run this code as your user; the receiver does not. Have you reviewed it, and do you trust it? [y/N] It is not trusted.\n',
    )
    expect(await run(here, [])).toMatchObject({ code: 1 })
    expect(await run(here, ['trust'], 'yes\n')).toMatchObject({
      code: 0,
      out: expect.stringContaining('Trusted. Any change to its files withdraws the trust.\n'),
    })
    expect(await run(here, [])).toMatchObject({ code: 0, out: expect.stringContaining('/a.mjs') })
    expect(await run(here, ['trust'])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/Trusted already\.\n$/),
    })
  })

  test('asks nothing without a terminal, unless --yes is set', async () => {
    const here = scene()
    const err = 'hookspan hooks: not trusted: no terminal for confirmation; use --yes\n'
    expect(await run(here, ['trust'])).toMatchObject({ code: 1, err })
    expect(await run(here, ['trust', '--yes'])).toMatchObject({ code: 0, err: '' })
    here.put(here.projectFolder, { 'a.mjs': blocker('b') })
    expect(await run(here, ['trust'])).toMatchObject({
      code: 1,
      out: expect.stringContaining('It was trusted before, and has changed since.'),
    })
    expect(await run(here, [])).toMatchObject({
      code: 1,
      err: expect.stringContaining('it has changed since it was trusted'),
    })
  })

  test.each([['.'], ['.hookspan/hooks'], ['../project']])('covers the folder %s', async folder => {
    const here = scene()
    expect(await run(here, ['trust', folder, '-y'])).toMatchObject({ code: 0 })
    expect(await run(here, [])).toMatchObject({ code: 0 })
    const out = '~/project/.hookspan/hooks is no longer trusted.\n'
    expect(await run(here, ['trust', folder, '--undo'])).toEqual({ code: 0, out, err: '' })
    expect(await run(here, ['trust', '--undo'])).toMatchObject({ out: expect.stringMatching(/^Nothing to do/) })
    expect(await run(here, [])).toMatchObject({ code: 1 })
  })

  test('reports where it is not loaded all the same', async () => {
    const here = scene()
    configure(here, '')
    expect((await run(here, ['trust', '-y'])).out).toMatch(/It is not loaded yet: set hooks\.project_local .*\.\n$/)
  })

  test('fails for a folder that cannot be trusted, or does not exist', async () => {
    const here = scene()
    const { err, code } = await run(here, ['trust', 'elsewhere', '-y'])
    expect([code, err]).toEqual([1, 'hookspan hooks: there is no ~/project/elsewhere/.hookspan/hooks\n'])
    symlinkSync('/etc', join(here.projectFolder, 'link'))
    expect(await run(here, ['trust', '-y'])).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        /link is not loaded: it is a symbolic link.*\n.*cannot be trusted as long as that is so/,
      ),
    })
  })
})

/** Says in each phase what it was asked about. */
const TALKING = `const say = what => ({ decision: 'block', reason: JSON.stringify(what) })
export default {
  name: 'talking',
  beforeTurn: ({ prompt }) => say(prompt),
  beforeModel: ({ model, messages }) => say([model, messages]),
  afterModel: ({ text, toolCalls, error, attempt }) => say([text, toolCalls.map(each => each.command), error, attempt]),
  beforeTool: ({ tool }) => say([tool.kind, tool.arguments]),
  afterTool: ({ tool, result, isError }) => say([tool.command, result, isError]),
  afterTurn: ({ answer }) => say(answer),
}
`

function recorded(records: readonly (readonly [hook: string, payload: object])[]): string {
  const ids = { session_id: 's', turn_id: 't1' }
  return records.map(([hook, payload]) => `${JSON.stringify({ hook, payload: { ...ids, ...payload } })}\n`).join('')
}

async function tried(files: Readonly<Record<string, string>>, recording: string, ...more: string[]): Promise<Answer> {
  const scene = new HooksScene()
  scene.put(scene.globalFolder, files)
  writeFileSync(join(scene.project, 'recording.jsonl'), recording)
  const [file = ''] = Object.keys(files)
  return run(scene, ['test', join(scene.globalFolder, file), join(scene.project, 'recording.jsonl'), ...more])
}

describe('a trial over a recording', () => {
  test("asks about the recording's events, and reports what it lacks", async () => {
    const recording = recorded([
      ['pre_llm_call', { user_message: [{ type: 'text', text: 'Clean up' }] }],
      ['pre_api_request', { model: 'm', request_messages: [{ role: 'developer', content: 'Be brief' }] }],
      [
        'post_api_request',
        {
          response: {
            assistant_message: {
              content: 'I will',
              tool_calls: [{ id: 'c', function: { name: 'bash', arguments: '{"command":"rm x"}' } }],
            },
          },
        },
      ],
      ['api_request_error', { status_code: 429, error: { type: 'RateLimit' }, retry_count: 1 }],
      ['pre_tool_call', { tool_name: 'bash', tool_call_id: 'c', args: { command: 'rm x' } }],
      ['post_tool_call', { tool_name: 'bash', tool_call_id: 'c', result: 'gone', status: 'error' }],
      ['post_llm_call', { assistant_response: 'Done' }],
      ['pre_llm_call', {}],
      ['pre_tool_call', { tool_name: 'bash', tool_call_id: 'd' }],
      ['post_tool_call', { tool_name: 'bash', tool_call_id: 'd', args: {} }],
      ['post_api_request', {}],
      ['on_session_end', {}],
    ])
    const { code, out, err } = await tried({ 'talking.mjs': TALKING }, recording)
    expect([code, err]).toEqual([0, ''])
    expect(out).toBe(`  turn  phase        what  hook     verdict  why
  t1    beforeTurn         talking  block    "Clean up"
  t1    beforeModel  m     talking  block    ["m",[{"role":"system","text":"Be brief"}]]
  t1    afterModel         talking  block    ["I will",["rm x"],null,0]
  t1    afterModel         talking  block    ["",[],{"type":"RateLimit","status":429},1]
  t1    beforeTool   bash  talking  block    ["shell",{"command":"rm x"}]
  t1    afterTool    bash  talking  block    ["rm x","gone",true]
  t1    afterTurn          talking  block    "Done"

Runs: beforeTurn 1, afterTurn 1, beforeModel 1, afterModel 2, beforeTool 1, afterTool 1
Skipped, because the recording lacks a field: beforeTurn: no prompt 1, beforeTool: no arguments 1, afterTool: no result 1, afterModel: no answer 1

  hook     decided
  talking  block 7
`)
  })

  test('keeps the state of a turn, and counts passes and failures', async () => {
    const text = `export const hooks = [
      { name: 'second', beforeTool: (_, { state }) => ((state.calls = (state.calls ?? 0) + 1) > 1 ? { decision: 'block', reason: 'Call ' + state.calls } : undefined) },
      { name: 'broken', beforeTool() { throw new Error('no luck') } },
    ]\n`
    const call = (turn: string): readonly [string, object] => [
      'pre_tool_call',
      { turn_id: turn, tool_name: 'bash', args: {} },
    ]
    const { code, out, err } = await tried({ 'a.mjs': text }, recorded([call('t1'), call('t2'), call('t2')]))
    expect(code).toBe(0)
    expect(out).toBe(`  turn  phase       what  hook    verdict  why
  t1    beforeTool  bash  broken  failed   no luck
  t2    beforeTool  bash  broken  failed   no luck
  t2    beforeTool  bash  second  block    Call 2

Runs: beforeTool 3

  hook    decided
  second  pass 2, block 1
  broken  failed 2
`)
    expect(err).toContain('hookspan hooks: hook broken failed in beforeTool, which counts as pass: no luck\n')
  })

  test('covers a whole session', async () => {
    const scene = new HooksScene()
    const text =
      "export default { name: 'none', decisions: ['ask'], beforeTool: () => ({ decision: 'ask', question: 'Really?' }) }\n"
    scene.put(scene.project, { 'anywhere.mjs': text })
    const { code, out, err } = await run(scene, ['test', 'anywhere.mjs', fixture('demo-session.jsonl')])
    expect([code, err]).toEqual([0, ''])
    expect(out).toMatch(/^Runs: beforeTool \d+$/m)
    expect(out).toMatch(/^ {2}none +ask \d+$/m)
  })

  test("passes a file the options that it would get: no options of a user's file to one of a project", async () => {
    const scene = new HooksScene()
    const told = "export default options => ({ name: 'o ' + Object.keys(options), beforeTool() {} })\n"
    const other = join(scene.home, 'other')
    for (const folder of [scene.globalFolder, scene.projectFolder, join(other, '.hookspan', 'hooks'), scene.project])
      scene.put(folder, { 'guard.mjs': told })
    scene.put(scene.projectFolder, { 'local.mjs': told })
    configure(scene, 'hooks: {options: {guard.mjs: {token: x}, local: {max: 1}}}')
    const hookOf = async (file: string): Promise<string | undefined> => {
      const { out } = await run(scene, ['test', file, fixture('demo-session.jsonl')])
      return /^ {2}(o[ a-z]*?) {2}/m.exec(out)?.[1]?.trim()
    }
    expect(await hookOf(join(scene.globalFolder, 'guard.mjs'))).toBe('o token')
    expect(await hookOf('.hookspan/hooks/guard.mjs')).toBe('o')
    expect(await hookOf(join(other, '.hookspan/hooks/guard.mjs'))).toBe('o')
    expect(await hookOf('.hookspan/hooks/local.mjs')).toBe('o max')
    // In no folder of hooks: what may be put into yours.
    expect(await hookOf('guard.mjs')).toBe('o token')
  })

  test('moves no cursor by foreign text', async () => {
    const text = "export default { name: 'a', beforeTool: () => ({ decision: 'block', reason: '\\u001b[2Jx\\ny' }) }\n"
    const { out } = await tried(
      { 'a.mjs': text },
      recorded([['pre_tool_call', { tool_name: 'ba\u001b[1msh', args: {} }]]),
    )
    expect(out).toContain('  t1    beforeTool  bash  a     block    x y\n')
  })

  test('reads raw events of a host, too', async () => {
    const { code, err } = await tried({ 'a.mjs': blocker('a') }, '{"event":"nothing"}\n', '--host', 'pi')
    expect([code, err]).toEqual([0, ''])
  })

  test('reports a malformed line, and reads the rest', async () => {
    const recording = `{"hook"\n${recorded([['pre_tool_call', { tool_name: 'x', args: {} }]])}`
    const { code, out, err } = await tried({ 'a.mjs': blocker('a') }, recording)
    expect(code).toBe(1)
    expect(err).toBe(
      'hookspan hooks: ~/project/recording.jsonl line 1: not JSON: it ends too early; the line is skipped\n',
    )
    expect(out).toMatch(/^ {2}a +block 1$/m)
  })

  test.each<[string, (scene: HooksScene) => string[], RegExp]>([
    [
      'a recording that is not there',
      scene => [join(scene.globalFolder, 'a.mjs'), 'none.jsonl'],
      /cannot read none\.jsonl: there is no such file/,
    ],
    ['a file that is not there', () => ['none.mjs', fixture('demo-session.jsonl')], /none\.mjs is not loaded: /],
    [
      'no file of the folder',
      scene => [join(scene.globalFolder, 'b.mjs'), '-'],
      /b\.mjs is not a loadable file of guards/,
    ],
  ])('fails for %s', async (_, args, err) => {
    const scene = new HooksScene()
    scene.put(scene.globalFolder, { 'a.mjs': blocker('a') })
    expect(await run(scene, ['test', ...args(scene)])).toMatchObject({ code: 1, err: expect.stringMatching(err) })
  })
})

test.each([
  [['trsut'], 'expected trust or test, got "trsut"'],
  [['--yes'], '--yes is for trust'],
  [['test', 'a', 'b', '--undo'], '--undo is for trust'],
  [['trust', '--host', 'pi'], '--host is for test'],
  [['trust', 'a', 'b'], 'trust takes one FOLDER'],
  [['test', 'a'], 'test takes a FILE of hooks and a RECORDING'],
])('rejects wrong usage: %s', async (args, message) => {
  const { code, err } = await run(new HooksScene(), args)
  expect([code, err.split('\n')[0]]).toEqual([2, `hookspan hooks: ${message}`])
})
