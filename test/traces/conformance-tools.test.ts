import { describe, expect, test } from 'vitest'
import { feedSteps, START_AT, type Step, told } from '../support/feed.ts'
import {
  all,
  answered,
  asked,
  attributes,
  began,
  only,
  parentOf,
  series,
  seriesText,
  TURN,
  text,
  used,
} from './scenes.ts'

/** One tool call in a turn; its attributes. */
function tool(start: object, end: object = {}) {
  const plugin = told([...began(), ...used(100, start, end)])
  return plugin.spans().find(span => span.attributes['hermes.span.kind'] === 'tool')
}

describe('the tool', () => {
  test('case 27: treats a command as no target', () => {
    const span = tool({ tool_name: 'bash', args: { command: 'ls -la' } })
    expect(span?.attributes['hermes.tool.command']).toBe('ls -la')
    expect(span?.attributes).not.toHaveProperty('hermes.tool.target')
  })

  test.each(['path', 'file_path', 'target', 'url', 'uri'])('case 28: treats %s as a target', key => {
    expect(tool({ args: { [key]: '/tmp/foo' } })?.attributes['hermes.tool.target']).toBe('/tmp/foo')
  })

  test.each([
    [29, { result: 'plain text' }, 'completed', 'ok'],
    [32, { result: { status: 'Error' } }, 'error', 'error'],
    [33, { result: { error: '' } }, 'completed', 'ok'],
    [33, { result: { error: '   ' } }, 'completed', 'ok'],
    [36, { result: 'plain text', status: 'timeout' }, 'timeout', 'ok'],
  ])('case %i: maps %o to the outcome %s, status %s', (_case, end, outcome, status) => {
    const span = tool({}, { status: undefined, ...end })
    expect(span?.attributes['hermes.tool.outcome']).toBe(outcome)
    expect(span?.status).toBe(status)
  })

  test('case 30: finds an error in a result of JSON text', () => {
    const span = tool({}, { status: undefined, result: '{"error":"boom"}' })
    expect(span).toMatchObject({ status: 'error', statusMessage: 'boom' })
    expect(span?.attributes).toMatchObject({ 'hermes.tool.outcome': 'error', 'error.message': 'boom' })
  })

  test.each<[object, string, string, string | undefined, string | undefined]>([
    [{ error_message: 'no such file' }, 'error', 'error', 'tool_error', 'no such file'],
    [{ error_type: 'ENOENT' }, 'error', 'error', 'ENOENT', undefined],
    [{ error: { type: 'NotFound', message: 'no such file' } }, 'error', 'error', 'NotFound', 'no such file'],
    [{ error: new RangeError('too far') }, 'error', 'error', 'RangeError', 'too far'],
    [{ error: 'no such file' }, 'error', 'error', 'tool_error', 'no such file'],
    [{ error: true }, 'error', 'error', 'tool_error', undefined],
    [
      { error: new RangeError('too far'), error_type: 'ENOENT', error_message: 'gone' },
      'error',
      'error',
      'ENOENT',
      'gone',
    ],
    [{ error: { name: 'AbortError', message: 'stopped' } }, 'cancelled', 'ok', undefined, undefined],
    [{ error: { name: 'TimeoutError', message: 'late' } }, 'timeout', 'ok', undefined, undefined],
    [{ error: 'blocked', result: { status: 'blocked' } }, 'blocked', 'ok', undefined, undefined],
    [{ error: new RangeError('too far'), status: 'ok' }, 'completed', 'ok', undefined, undefined],
    [{ error: false, error_type: '', error_message: ' ' }, 'completed', 'ok', undefined, undefined],
  ])('maps %o without a status to the outcome %s, status %s, type %s', (end, outcome, status, type, message) => {
    const span = tool({}, { status: undefined, ...end })
    expect(span?.attributes['hermes.tool.outcome']).toBe(outcome)
    expect(span?.status).toBe(status)
    expect(span?.attributes['error.type']).toBe(type)
    expect(span?.attributes['error.message']).toBe(message)
  })

  test.each([
    ['err', 'error', 'error'],
    ['fail', 'error', 'error'],
    ['Exception', 'error', 'error'],
    ['errored', 'error', 'error'],
    ['killed', 'cancelled', 'ok'],
    ['aborted', 'cancelled', 'ok'],
    ['abort', 'cancelled', 'ok'],
    ['terminated', 'cancelled', 'ok'],
    ['pending', 'pending', 'ok'],
    ['brilliant', 'brilliant', 'ok'],
  ])('maps the status %s to the outcome %s, status %s', (word, outcome, status) => {
    const span = tool({}, { status: word })
    expect(span?.attributes['hermes.tool.outcome']).toBe(outcome)
    expect(span?.status).toBe(status)
  })

  test('reads a killed command in a result as no cancellation of the call', () => {
    expect(tool({}, { status: undefined, result: { status: 'killed' } })?.attributes['hermes.tool.outcome']).toBe(
      'killed',
    )
  })

  test('case 35: creates no span and no duration for an end without a start and a duration', async () => {
    const [, post] = used(100) as [Step, Step]
    const plugin = told([...began(), post])
    expect(all(plugin, 'tool.terminal')).toEqual([])
    expect(await series(plugin, 'hermes.tool.duration')).toEqual([])
    expect(await seriesText(plugin, 'hermes.tool.calls')).toEqual(['tool_name=terminal outcome=completed → 1'])
  })

  test('case 39: keeps arguments, results and times of calls apart that differ only in their id', () => {
    const call = (id: string) => ({ task_id: 'k1', tool_call_id: id, args: { command: `echo ${id}` } })
    const [preA, postA] = used(100, call('a'), { result: 'A' }) as [Step, Step]
    const [preB] = used(110, call('b')) as [Step, Step]
    const [, postB] = used(90, call('b'), { result: 'B' }) as [Step, Step]
    const plugin = told([...began(), preA, preB, postB, postA, ...answered(300)])
    expect(plugin.tree({ attributes: ['hermes.tool.command', 'gen_ai.tool.call.result'] })).toBe(text`
      agent OK
        llm.qwen3 OK
          tool.terminal OK [hermes.tool.command="echo a", gen_ai.tool.call.result=A]
          tool.terminal OK [hermes.tool.command="echo b", gen_ai.tool.call.result=B]
    `)
    const times = all(plugin, 'tool.terminal').map(span => [span.startAt - START_AT, span.endAt - START_AT])
    expect(times).toEqual([
      [110, 140],
      [100, 150],
    ])
  })
})

describe('skills', () => {
  const LOAD = { tool_name: 'read_file', args: { path: '/x/skills/monitor/SKILL.md' } }

  test('case 40: names a skill by a manifest that is read', async () => {
    const plugin = told([...began(), ...used(100, LOAD)])
    expect(attributes(plugin, 'tool.read_file')).toMatchObject({
      'hermes.skill.name': 'monitor',
      'hermes.skill.source': 'path_match',
    })
    expect(await seriesText(plugin, 'hermes.skill.inferred')).toEqual(['skill_name=monitor source=path_match → 1'])
  })

  test('case 41: rejects a segment that only ends in "skills"', async () => {
    const plugin = told([...began(), ...used(100, { args: { path: '/optional-skills/monitor/references/x' } })])
    expect(attributes(plugin, 'tool.terminal')).not.toHaveProperty('hermes.skill.name')
    expect(await series(plugin, 'hermes.skill.inferred')).toEqual([])
  })

  test('case 43: keeps the window of a skill open from its load to the end of the turn', () => {
    const plugin = told([...began(), ...used(100, LOAD), ...answered(300)])
    const window = only(plugin, 'skill.monitor')
    expect(parentOf(plugin, window)?.name).toBe('agent')
    expect([window.startAt - START_AT, window.endAt - START_AT]).toEqual([150, 310])
    expect(window.attributes).toMatchObject({
      'hermes.span.kind': 'skill',
      'openinference.span.kind': 'CHAIN',
      'hermes.skill.name': 'monitor',
      'hermes.skill.source': 'path_match',
      'hermes.skill.path': '/x/skills/monitor/SKILL.md',
      'hermes.skill.result_status': 'completed',
    })
  })

  test('case 44: makes two skills siblings, and one that is read twice one', () => {
    const other = { tool_name: 'skill_view', args: { name: 'deploy' } }
    const plugin = told([
      ...began(),
      ...used(100, { ...LOAD, tool_call_id: 'c1' }),
      ...used(160, { ...other, tool_call_id: 'c2' }),
      ...used(220, { ...LOAD, tool_call_id: 'c3' }),
      ...answered(300),
    ])
    expect(plugin.tree({ status: false })).toBe(text`
      agent
        llm.qwen3
          tool.read_file
          tool.skill_view
          tool.read_file
        skill.monitor
        skill.deploy
    `)
  })
})

describe('the summary of the turn', () => {
  test('case 48: lists names, targets, commands, outcomes', () => {
    const plugin = told([
      ...began(),
      ...asked(30),
      ...used(150, { tool_name: 'read', tool_call_id: 'c1', args: { path: '/tmp/foo' } }),
      ...used(210, { tool_name: 'bash', tool_call_id: 'c2', args: { command: 'ls' } }),
      ...answered(300),
    ])
    expect(attributes(plugin, 'agent')).toMatchObject({
      'hermes.turn.tool_count': 2,
      'hermes.turn.tools': 'bash,read',
      'hermes.turn.tool_targets': '/tmp/foo',
      'hermes.turn.tool_commands': 'ls',
      'hermes.turn.tool_outcomes': 'completed',
      'hermes.turn.api_call_count': 1,
    })
  })

  test('case 49: lists distinct commands, first seen first, and counts calls apart from names', () => {
    const bash = (command: string, id: string) => ({ tool_name: 'bash', tool_call_id: id, args: { command } })
    const plugin = told([
      ...began(),
      ...used(100, bash('ls', 'c1')),
      ...used(160, bash('pwd', 'c2')),
      ...used(220, bash('ls', 'c3')),
      ...answered(300),
    ])
    expect(attributes(plugin, 'agent')).toMatchObject({
      'hermes.turn.tool_count': 1,
      'hermes.turn.tool_call_count': 3,
      'hermes.turn.tool_commands': 'ls|pwd',
    })
  })

  test('case 50: sorts outcomes', () => {
    const plugin = told([
      ...began(),
      ...used(100, { tool_call_id: 'c1' }, { status: 'error', error_message: 'boom' }),
      ...used(160, { tool_call_id: 'c2' }),
      ...answered(300),
    ])
    expect(attributes(plugin, 'agent')).toMatchObject({
      'hermes.turn.tool_outcomes': 'completed,error',
      'hermes.turn.tool_error_count': 1,
    })
  })

  test('case 51: sets nothing about tools without tools', () => {
    const plugin = told([...began(), ...asked(100)])
    feedSteps(plugin, [[300, 'on_session_end', { ...TURN, completed: true }]])
    const root = attributes(plugin, 'agent')
    expect(root).toMatchObject({ 'hermes.turn.api_call_count': 1, 'hermes.turn.final_status': 'completed' })
    for (const name of Object.keys(root)) expect(name).not.toMatch(/turn\.(tool|skill|approval|subagent|retry)/)
  })
})
