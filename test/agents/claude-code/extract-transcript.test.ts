import { expect, test } from 'vitest'
import { ClaudeTranscript } from '../../../src/agents/claude-code/transcript.ts'
import type { HostEvent } from '../../../src/agents/host-event.ts'
import { START } from './scene.ts'
import { lines, text, use } from './transcript.ts'

function read(...all: readonly string[]): ClaudeTranscript {
  const transcript = new ClaudeTranscript({ session_id: 's1' })
  for (const line of all) transcript.addLine(line)
  return transcript
}

const BESIDE_REQUESTS: ReadonlySet<string> = new Set([
  ...['transcript:prompt', 'transcript:stopped', 'transcript:result'],
])

/** What was found of requests up to a time, without the session. */
function found(transcript: ClaudeTranscript, until = 10_000, isStop = false): object[] {
  transcript.advance(START + until, isStop)
  const events = transcript.drain().filter(({ event }) => !BESIDE_REQUESTS.has(event))
  return events.map(told)
}

function told({ event, data }: HostEvent): object {
  const { session_id, ...rest } = data as Record<string, unknown>
  for (const key of ['started_at', 'ended_at', 'at']) {
    if (typeof rest[key] === 'number') rest[key] -= START
  }
  return { event: event.slice('transcript:'.length), ...rest }
}

test('merges the blocks of one answer, also with tool results between them', () => {
  const transcript = read(
    lines.prompt(0, 'p1'),
    lines.request(5, 'r1'),
    lines.block(20, 'm1', { type: 'thinking', thinking: 'hm' }, { requestRef: 'r1' }),
    lines.block(30, 'm1', use('t1'), { requestRef: 'r1' }),
    lines.result(40, 't1', 'p1'),
    lines.block(50, 'm1', use('t2'), { requestRef: 'r1' }),
    lines.result(60, 't2', 'p1'),
  )
  expect(found(transcript)).toEqual([
    {
      event: 'response',
      prompt_id: 'p1',
      message_id: 'm1',
      model: 'claude',
      stop_reason: 'tool_use',
      usage: { input_tokens: 100, output_tokens: 17 },
      content: [use('t1'), use('t2')],
      started_at: 5,
      ended_at: 50,
    },
  ])
})

test('dates a request after its prompt if no time of sending is recorded', () => {
  const transcript = read(
    lines.prompt(0, 'p1'),
    lines.block(20, 'm1', use('t1')),
    lines.result(40, 't1', 'p1'),
    lines.block(50, 'm2', text('Done.')),
  )
  expect(found(transcript)).toMatchObject([
    { started_at: 0, start_is_guessed: true, ended_at: 20 },
    { started_at: 40, start_is_guessed: true, ended_at: 50 },
  ])
})

test('reports an incomplete answer as a request', () => {
  const transcript = read(lines.prompt(0, 'p1'), lines.request(5, 'r1'))
  transcript.advance(START + 10, false)
  expect(transcript.hasRequestOf('t1')).toBe(true)
  expect(transcript.drainFor('t1').map(told)).toEqual([
    { event: 'prompt', prompt_id: 'p1', at: 0, prompt: 'go' },
    { event: 'request', prompt_id: 'p1', started_at: 5, model: 'claude' },
  ])
})

test('treats a request before the last batch of tools as answered', () => {
  const transcript = read(lines.prompt(0, 'p1'), lines.request(5, 'r1'))
  transcript.advance(START + 10, false)
  transcript.askedAt = START + 20
  expect(transcript.hasRequestOf('t2')).toBe(false)
  expect(transcript.drainFor('t2').map(told)).toMatchObject([{ event: 'prompt' }])
  transcript.addLine(lines.block(8, 'm1', use('t1'), { requestRef: 'r1' }))
  transcript.addLine(lines.request(21, 'r2'))
  transcript.advance(START + 30, false)
  expect(transcript.drainFor('t2').map(told)).toMatchObject([
    { event: 'response', message_id: 'm1' },
    { event: 'request', started_at: 21 },
  ])
})

test('ignores requests for titles and the like', () => {
  const transcript = read(lines.prompt(0, 'p1'), lines.request(5, 'r1', 'generate_session_title'))
  transcript.advance(START + 10, false)
  expect(transcript.hasRequestOf('t1')).toBe(false)
})

test('reports failed attempts that are retried', () => {
  const transcript = read(
    lines.prompt(0, 'p1'),
    lines.request(5, 'r1'),
    lines.error(10),
    lines.request(500, 'r2'),
    lines.failure(510),
  )
  expect(found(transcript)).toMatchObject([
    { event: 'failure', started_at: 5, at: 10, status: 529, retry_in_ms: 500, max_retries: 10, line_id: 'error-10' },
    { event: 'failure', started_at: 500, at: 510, status: 400, error: 'invalid_request', message: 'API Error: 400' },
  ])
})

test('reports an interruption by the user', () => {
  const transcript = read(lines.prompt(0, 'p1'), lines.request(5, 'r1'), lines.interruption(100))
  expect(found(transcript)).toMatchObject([{ event: 'interrupted', prompt_id: 'p1', started_at: 5, at: 100 }])
})

test('reports the request of a withdrawn prompt', () => {
  const transcript = read(lines.prompt(0, 'p1'), lines.request(5, 'r1'), lines.prompt(100, 'p2'))
  expect(found(transcript)).toEqual([{ event: 'request', prompt_id: 'p1', started_at: 5, model: 'claude' }])
  expect(transcript.hasRequestOf('t1')).toBe(false)
})

test('keeps lines written after a hook for the next hook', () => {
  const transcript = read(
    lines.prompt(0, 'p1'),
    lines.block(20, 'm1', text('Done.')),
    lines.stopped(30),
    lines.prompt(100, 'p2'),
    lines.block(120, 'm2', text('Again.')),
    lines.stopped(130),
  )
  expect(found(transcript, 25, true)).toMatchObject([{ message_id: 'm1', prompt_id: 'p1' }])
  expect(found(transcript, 125, true)).toMatchObject([{ message_id: 'm2', prompt_id: 'p2' }])
})

test('detects a stop hook that makes the agent continue', () => {
  const transcript = read(lines.prompt(0, 'p1'), lines.block(20, 'm1', text('Done.')), lines.feedback(30))
  transcript.advance(START + 25, true)
  expect(transcript).toMatchObject({ isStopped: false, lastText: 'Done.' })
  transcript.addLine(lines.stopped(31))
  transcript.advance(START + 25, true)
  expect(transcript).toMatchObject({ isStopped: true, goesOn: true })
})

test('reports the end of a turn unless the agent continues', () => {
  const end = [lines.block(20, 'm1', text('Done.')), lines.stopped(31)]
  const transcript = read(lines.prompt(0, 'p1'), end[0] ?? '', lines.feedback(30), end[1] ?? '')
  transcript.advance(START + 100, false)
  expect(transcript.drain().map(({ event }) => event)).not.toContain('transcript:stopped')
  const other = read(lines.prompt(0, 'p1'), ...end)
  other.advance(START + 100, false)
  expect(other.drain().map(told).at(-1)).toEqual({
    event: 'stopped',
    prompt_id: 'p1',
    at: 31,
    last_assistant_message: 'Done.',
  })
})

test('resets the end after it was read', () => {
  const transcript = read(
    lines.prompt(0, 'p1'),
    lines.block(20, 'm1', text('Done.')),
    lines.feedback(30),
    lines.stopped(31),
  )
  found(transcript, 25, true)
  expect(transcript).toMatchObject({ isStopped: false, goesOn: false, lastText: undefined })
})

test('ignores lines that are not JSON, of other types, or without a time', () => {
  const transcript = read('', 'x"type":"user"', '{"type":"user"}\n', '[]', '{"type":"api-request-blob"}')
  expect(found(transcript)).toEqual([])
})

test('reports tool results after the answer that requested them', () => {
  const transcript = read(
    lines.prompt(0, 'p1'),
    lines.block(20, 'm1', use('t1')),
    lines.result(40, 't1', 'p1', { toolUseResult: { stdout: 'one' } }),
    lines.block(50, 'm1', use('t2')),
    lines.cancelled(60, 'PreToolUse', 't2', { timeoutMs: 10 }),
    lines.result(70, 't2', 'p1', { toolUseResult: 'Error: Not that.', toolDenialKind: 'user-rejected' }, true),
  )
  transcript.advance(START + 100, false)
  expect(transcript.hasAnswerOf('t1', true)).toBe(true)
  expect(transcript.hasAnswerOf('t3', false)).toBe(false)
  const results = transcript.drain().map(told).slice(1)
  const about = { event: 'result', prompt_id: 'p1' }
  expect(results).toEqual([
    expect.objectContaining({ event: 'response', message_id: 'm1' }),
    { ...about, tool_use_id: 't1', at: 40, response: { stdout: 'one' } },
    {
      ...{ ...about, tool_use_id: 't2', at: 70, started_at: 50 },
      ...{ is_error: true, denial: 'user-rejected', response: 'as the model sees it' },
    },
  ])
})

test('reads which hooks timed out, each once', () => {
  const transcript = read(
    lines.cancelled(110, 'PostToolUse', 't1'),
    lines.cancelled(120, 'Stop', 'a-random-id', { command: 'http://127.0.0.1:1/claude-code', timeoutMs: 100 }),
  )
  transcript.advance(START + 1000, false)
  expect(transcript.cancelledHooks.splice(0)).toEqual([
    { event: 'PostToolUse', callId: 't1', command: undefined, firedAt: START + 110 },
    { event: 'Stop', callId: 'a-random-id', command: 'http://127.0.0.1:1/claude-code', firedAt: START + 20 },
  ])
  expect(transcript.cancelledHooks).toEqual([])
})

test('reads the branch of the last prompt', () => {
  const prompt = (at: number, gitBranch: string): string =>
    JSON.stringify({ ...JSON.parse(lines.prompt(at, `p${at}`)), gitBranch })
  const transcript = read(prompt(0, 'main'), prompt(10, 'fix/login'))
  found(transcript)
  expect(transcript.branch).toBe('fix/login')
})
