import { dirname, join } from 'node:path'
import { elementsOf, idOf, isArray, peek, pickFields, textOf } from '../../contract/foreign.ts'
import { AppendedLineReader, ID_IN_PATH, listAgentFolder, openAgentFile } from '../base/agent-file.ts'
import { timestampOf } from '../base/event-machine.ts'
import { FileAdapter, type Findings, ownEnvironment, type ReadTrigger } from '../base/file-adapter.ts'
import type { FindingOwner } from '../base/findings.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { joinTexts, plainText } from '../base/messages.ts'
import { jsonIn } from '../event-json.ts'
import type { HostEvent } from '../host-event.ts'
import type { ReceiverAdapter } from '../receiver-adapter.ts'
import { READS_FIRST } from './events.ts'

const PROJECTS_FOLDER = 'tmp'
const FILE_EXTENSION = '.jsonl'

export class GeminiAdapter extends FileAdapter {
  protected readonly prefix = 'session:'
  protected readonly readsFirst: ReadonlySet<string> = READS_FIRST
  readonly #readers = new LimitedMap<string, AppendedLineReader>(200)
  readonly #finishedFiles = new LimitedMap<string, true>(10_000)

  protected async read({ path, owner: { session_id } }: ReadTrigger): Promise<Findings | undefined> {
    if (path?.endsWith(FILE_EXTENSION) !== true) return undefined
    const found = await this.#readNewLines(path, { session_id })
    if (ID_IN_PATH.test(session_id)) {
      const folder = join(dirname(path), session_id)
      for (const name of await listAgentFolder(folder, this.environment.place, PROJECTS_FOLDER)) {
        const [file, agent_id] = [join(folder, name), name.slice(0, -FILE_EXTENSION.length)]
        const isChild = name.endsWith(FILE_EXTENSION) && ID_IN_PATH.test(agent_id) && !this.#finishedFiles.has(file)
        if (isChild) found.push(...(await this.#readNewLines(file, { session_id, agent_id })))
      }
    }
    return { found: found.sort((one, other) => (one.at ?? 0) - (other.at ?? 0)) }
  }

  async #readNewLines(path: string, owner: FindingOwner): Promise<HostEvent[]> {
    const found: HostEvent[] = []
    const reader = this.#readers.recall(path, () => new AppendedLineReader())
    await reader.readFrom(openAgentFile(path, this.environment.place, PROJECTS_FOLDER), line => {
      if (owner.agent_id !== undefined && line.startsWith(CHILD_RESULT)) this.#finishedFiles.set(path, true)
      found.push(...eventsOfLine(line, owner))
    })
    return found
  }
}

export const gemini: ReceiverAdapter = new GeminiAdapter(ownEnvironment(['GEMINI_CLI_HOME'], '.gemini', '.gemini'))

const CANCELLED = 'Request cancelled.'
/** Prefix of lines that rewrite the conversation or its display; they report no event. */
const REWRITTEN = '{"$'
/** Prefix of the last line of a child agent's file. */
const CHILD_RESULT = '{"$set":{"summary"'

function eventsOfLine(text: string, owner: FindingOwner): readonly HostEvent[] {
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

function promptOf(line: unknown): string | undefined {
  const content = peek(line, 'content')
  const isResult = elementsOf(content).some(part => peek(part, 'functionResponse') !== undefined)
  return isResult ? undefined : plainText(content)
}

/** Converts an answer. Answers without a model are older ones, written again when a turn was stopped. */
function answerOf(line: unknown, about: FindingOwner & { readonly id: string }, at: number): HostEvent[] {
  const model = textOf(peek(line, 'model'))
  if (model === undefined) return []
  const data = { ...about, model, ...pickFields(line, ['content', 'tokens']) }
  const answer = { event: 'session:answer', at, data }
  const calls = elementsOf(peek(line, 'toolCalls')).flatMap(call => callOf(call))
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
  const answers = elementsOf(result).map(part => peek(peek(part, 'functionResponse'), 'response'))
  return joinTexts(answers.map(answer => textOf(peek(answer, 'error')) ?? textOf(peek(answer, 'output'))))
}
