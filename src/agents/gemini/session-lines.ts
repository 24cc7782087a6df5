import { elementsOf, idOf, isArray, peek, textOf } from '../../contract/foreign.ts'
import { joinTexts, plainText } from '../base/messages.ts'
import { jsonIn } from '../event-json.ts'
import type { HostEvent } from '../host-event.ts'
import type {
  GeminiAnswer,
  GeminiAnswerCalls,
  GeminiCancellation,
  GeminiError,
  GeminiFileOwner,
  GeminiInput,
  GeminiRecordedCall,
} from './types.ts'

const PARTS_LIMIT = 1000
const CANCELLED = 'Request cancelled.'
/** Prefix of lines that rewrite the conversation or its display; they report no event. */
const REWRITTEN = '{"$'

export function eventsOfLine(text: string, owner: GeminiFileOwner): readonly HostEvent[] {
  if (text.startsWith(REWRITTEN)) return []
  const line = jsonIn(text)
  const id = idOf(peek(line, 'id'))
  const at = timeOf(line)
  if (id === undefined || at === undefined) return []
  switch (peek(line, 'type')) {
    case 'user':
      return [{ event: 'session:sent', at, data: { ...owner, text: promptOf(line) } satisfies GeminiInput }]
    case 'gemini':
      return answerOf(line, { ...owner, id }, at)
    case 'error': {
      const data: GeminiError = { ...owner, id, message: peek(line, 'content') }
      return [{ event: 'session:error', at, data }]
    }
    case 'info': {
      const data: GeminiCancellation = { ...owner, id }
      return peek(line, 'content') === CANCELLED ? [{ event: 'session:cancelled', at, data }] : []
    }
    default:
      return []
  }
}

/** Returns true for the last line of a child agent's file, which contains its result. */
export function isLastLine(text: string): boolean {
  return text.startsWith('{"$set":{"summary"')
}

function timeOf(line: unknown): number | undefined {
  const at = Date.parse(textOf(peek(line, 'timestamp')) ?? '')
  return Number.isNaN(at) ? undefined : at
}

function promptOf(line: unknown): string | undefined {
  const content = peek(line, 'content')
  const isResult = elementsOf(content, PARTS_LIMIT).some(part => peek(part, 'functionResponse') !== undefined)
  return isResult ? undefined : plainText(content)
}

/** Converts an answer. Answers without a model are older ones, written again when a turn was stopped. */
function answerOf(line: unknown, about: GeminiFileOwner & { readonly id: string }, at: number): HostEvent[] {
  const model = textOf(peek(line, 'model'))
  if (model === undefined) return []
  const found: GeminiAnswer = { ...about, model, content: peek(line, 'content'), tokens: peek(line, 'tokens') }
  const answer = { event: 'session:answer', at, data: found }
  const calls = elementsOf(peek(line, 'toolCalls'), PARTS_LIMIT).flatMap(call => callOf(call))
  if (calls.length === 0) return [answer]
  const answerCalls: GeminiAnswerCalls = { ...about, answered_at: at, calls }
  return [answer, { event: 'session:calls', at: calls.at(-1)?.at ?? at, data: answerCalls }]
}

function callOf(call: unknown): GeminiRecordedCall[] {
  const id = idOf(peek(call, 'id'))
  if (id === undefined) return []
  const status = peek(call, 'status')
  const about = { id, name: peek(call, 'name'), args: peek(call, 'args'), status, at: timeOf(call) }
  if (status === 'success') return [about]
  return [{ ...about, error: errorOf(peek(call, 'result')), display: textOf(peek(call, 'resultDisplay')) }]
}

function errorOf(result: unknown): string | undefined {
  if (!isArray(result)) return undefined
  const answers = elementsOf(result, PARTS_LIMIT).map(part => peek(peek(part, 'functionResponse'), 'response'))
  return joinTexts(answers.map(answer => textOf(peek(answer, 'error')) ?? textOf(peek(answer, 'output'))))
}
