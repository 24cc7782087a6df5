import { elementsOf, idOf, isArray, peek, textOf } from '../../contract/foreign.ts'
import { timestampOf } from '../base/event-machine.ts'
import { pickFields } from '../base/fields.ts'
import type { FindingOwner } from '../base/findings.ts'
import { joinTexts, plainText } from '../base/messages.ts'
import { jsonIn } from '../event-json.ts'
import type { HostEvent } from '../host-event.ts'

const PARTS_LIMIT = 1000
const CANCELLED = 'Request cancelled.'
/** Prefix of lines that rewrite the conversation or its display; they report no event. */
const REWRITTEN = '{"$'

export function eventsOfLine(text: string, owner: FindingOwner): readonly HostEvent[] {
  if (text.startsWith(REWRITTEN)) return []
  const line = jsonIn(text)
  const id = idOf(peek(line, 'id'))
  const at = timestampOf(line)
  if (id === undefined || at === undefined) return []
  switch (peek(line, 'type')) {
    case 'user':
      return [{ event: 'session:sent', at, data: { ...owner, text: promptOf(line) } }]
    case 'gemini':
      return answerOf(line, { ...owner, id }, at)
    case 'error':
      return [{ event: 'session:error', at, data: { ...owner, id, message: peek(line, 'content') } }]
    case 'info':
      return peek(line, 'content') === CANCELLED ? [{ event: 'session:cancelled', at, data: { ...owner, id } }] : []
    default:
      return []
  }
}

/** Returns true for the last line of a child agent's file, which contains its result. */
export function isLastLine(text: string): boolean {
  return text.startsWith('{"$set":{"summary"')
}

function promptOf(line: unknown): string | undefined {
  const content = peek(line, 'content')
  const isResult = elementsOf(content, PARTS_LIMIT).some(part => peek(part, 'functionResponse') !== undefined)
  return isResult ? undefined : plainText(content)
}

/** Converts an answer. Answers without a model are older ones, written again when a turn was stopped. */
function answerOf(line: unknown, about: FindingOwner & { readonly id: string }, at: number): HostEvent[] {
  const model = textOf(peek(line, 'model'))
  if (model === undefined) return []
  const data = { ...about, model, ...pickFields(line, ['content', 'tokens']) }
  const answer = { event: 'session:answer', at, data }
  const calls = elementsOf(peek(line, 'toolCalls'), PARTS_LIMIT).flatMap(call => callOf(call))
  if (calls.length === 0) return [answer]
  return [answer, { event: 'session:calls', at: calls.at(-1)?.at ?? at, data: { ...about, answered_at: at, calls } }]
}

function callOf(call: unknown) {
  const id = idOf(peek(call, 'id'))
  if (id === undefined) return []
  const status = peek(call, 'status')
  const about = { id, name: peek(call, 'name'), args: peek(call, 'args'), status, at: timestampOf(call) }
  if (status === 'success') return [about]
  return [{ ...about, error: errorOf(peek(call, 'result')), display: textOf(peek(call, 'resultDisplay')) }]
}

function errorOf(result: unknown): string | undefined {
  if (!isArray(result)) return undefined
  const answers = elementsOf(result, PARTS_LIMIT).map(part => peek(peek(part, 'functionResponse'), 'response'))
  return joinTexts(answers.map(answer => textOf(peek(answer, 'error')) ?? textOf(peek(answer, 'output'))))
}
