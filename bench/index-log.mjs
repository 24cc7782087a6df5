// A trace log as agents leave it, of about a kilobyte a span.
import { appendFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'

const SEGMENT_BYTES = 16_777_216
const MODELS = ['qwen3-coder', 'claude-sonnet-5', 'gpt-6-codex']
const TOOLS = ['terminal', 'read_file', 'edit_file', 'grep', 'delegate_task']
const WORDS = 20_000
const BEGAN_AT = Date.UTC(2026, 9, 1)

/** The same every time; small numbers come often. */
function random(seed) {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const USUAL = { series: '0', spansPerTurn: 40, turnsPerSession: 5 }

/** Writes so many spans in segments, and returns their bytes, spans and turns. A series, one hex digit, has its own ids. */
export function writeLog(directory, spans, { series, spansPerTurn, turnsPerSession } = USUAL) {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const next = random(4711)
  const word = () => `w${Math.floor(WORDS * next() ** 3).toString(36)}`
  const text = count => Array.from({ length: count }, word).join(' ')
  let [lines, held, bytes, segment] = [[], 0, 0, 0]
  const save = () => {
    segment += 1
    const content = lines.join('')
    appendFileSync(join(directory, `${BEGAN_AT + segment}-${series}.jsonl`), content, { mode: 0o600 })
    bytes += Buffer.byteLength(content)
    ;[lines, held] = [[], 0]
  }
  const turns = Math.ceil(spans / spansPerTurn)
  for (let turn = 0; turn < turns; turn++) {
    const session = sessionOf(series, Math.floor(turn / turnsPerSession))
    for (const line of turnLines({ turn, spansPerTurn, session, traceId: traceOf(series, turn) }, next, text)) {
      lines.push(line)
      held += line.length
    }
    if (held >= SEGMENT_BYTES) save()
  }
  save()
  return { bytes, spans: turns * spansPerTurn, turns }
}

export const sessionOf = (series, nth) => `session-${series === USUAL.series ? '' : series}${nth}`
export const traceOf = (series, turn) => series + (turn + 1).toString(16).padStart(31, '0')

function* turnLines({ turn, spansPerTurn, session, traceId }, next, text) {
  const beganAt = BEGAN_AT + turn * 60_000
  const span = (nth, parent, name, attributes, failed = false) => ({
    traceId,
    spanId: (nth + 1).toString(16).padStart(16, '0'),
    ...(parent >= 0 && { parentSpanId: (parent + 1).toString(16).padStart(16, '0') }),
    name,
    kind: 1,
    startTimeUnixNano: `${beganAt + nth * 500}000000`,
    endTimeUnixNano: `${beganAt + nth * 500 + Math.ceil(next() * 5_000)}000000`,
    attributes: Object.entries({ 'session.id': session, 'hermes.turn.id': `turn-${turn}`, ...attributes }).map(value),
    status: failed ? { code: 2, message: 'it failed' } : { code: 1 },
  })
  const model = MODELS[turn % MODELS.length]
  for (let nth = 1; nth < spansPerTurn; nth++) {
    const isRequest = nth % 4 === 1
    const tool = TOOLS[nth % TOOLS.length]
    yield line(
      isRequest
        ? span(nth, 0, `api.${model}`, requestAttributes(model, nth, text))
        : span(nth, nth - (nth % 4) + 1, `tool.${tool}`, toolAttributes(tool, text), nth % 17 === 0),
    )
  }
  yield line(span(0, -1, 'agent', rootAttributes(model, turn, text)))
}

function requestAttributes(model, nth, text) {
  const usage = { 'gen_ai.usage.input_tokens': 1_000 + nth, 'gen_ai.usage.output_tokens': 50 }
  return { 'hermes.span.kind': 'api', 'gen_ai.request.model': model, ...usage, 'output.value': text(35) }
}

function toolAttributes(tool, text) {
  const said = { 'input.value': text(10), 'output.value': text(50) }
  return { 'hermes.span.kind': 'tool', 'gen_ai.tool.name': tool, 'hermes.tool.outcome': 'completed', ...said }
}

function rootAttributes(model, turn, text) {
  const said = { 'input.value': text(20), 'output.value': text(20), 'hermes.turn.final_status': 'completed' }
  const who = { 'gen_ai.agent.name': 'bench', 'gen_ai.request.model': model, 'hermes.turn.number': turn + 1 }
  return { 'hermes.span.kind': 'session', ...who, ...said }
}

function value([key, given]) {
  return { key, value: typeof given === 'number' ? { intValue: String(given) } : { stringValue: given } }
}

function line(span) {
  const resource = { attributes: [value(['service.name', 'bench'])] }
  return `${JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'hookspan' }, spans: [span] }] }] })}\n`
}
