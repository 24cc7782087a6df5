import type { TraceTree } from './trace-forest.ts'
import type { Trajectory, TrajectoryRequest, TrajectoryTurn } from './trajectory.ts'
import { answerOf, systemPromptOf, trajectoriesOf } from './trajectory.ts'
import { jsonLine } from './tree-json.ts'

type ChatMessage = Readonly<Record<string, unknown>>

/**
 * One line per session in OpenAI's chat completions format, as used for fine-tuning. The format has no field for times, tokens,
 * errors and failed attempts. A child agent is a separate line after its parent.
 */
export function* exportMessages(trees: readonly TraceTree[]): Generator<string, void> {
  const waiting = [...trajectoriesOf(trees)].reverse()
  for (let each = waiting.pop(); each !== undefined; each = waiting.pop()) {
    const system = systemPromptOf(each)
    const head = system === '' ? [] : [{ role: 'system', content: system }]
    yield jsonLine({ messages: [...head, ...each.turns.flatMap(turnMessages)] })
    waiting.push(...childrenOf(each).reverse())
  }
}

function childrenOf({ turns }: Trajectory): Trajectory[] {
  return turns.flatMap(({ requests, calls, children }) => [
    ...[...requests.flatMap(request => request.calls), ...calls].flatMap(call => call.children),
    ...children,
  ])
}

/** A call follows the message that asks for it. A call without such a message is left out. */
function turnMessages({ input, output, requests }: TrajectoryTurn): ChatMessage[] {
  const answered = requests.filter(({ failed }) => !failed)
  const answers = answered.flatMap(request => requestMessages(request, request === answered.at(-1) ? output : ''))
  const untold = answered.length === 0 && output !== '' ? [{ role: 'assistant', content: output }] : []
  return [{ role: 'user', content: input }, ...answers, ...untold]
}

function requestMessages(request: TrajectoryRequest, fallback: string): ChatMessage[] {
  const { calls, span } = request
  const { text } = answerOf(request.span)
  if (calls.length === 0) return [{ role: 'assistant', content: text || span.rawText('output.value') || fallback }]
  const tool_calls = calls.map(({ id, name, arguments: args }) => {
    return { id, type: 'function', function: { name, arguments: args || '{}' } }
  })
  const results = calls.map(({ id, result }) => ({ role: 'tool', tool_call_id: id, content: result }))
  return [{ role: 'assistant', content: text || null, tool_calls }, ...results]
}
