import { booleanOf, elementsOf, idOf, peek, textOf } from '../../contract/foreign.ts'
import {
  type EventHandlers,
  EventMachine,
  eventHandlers,
  plausibleTime,
  type TimedEvent,
} from '../base/event-machine.ts'
import {
  emitEndedCalls,
  endCall,
  endCompaction,
  joinMessage,
  readRunUsage,
  startCall,
  startCompaction,
} from './requests.ts'
import { RunBook, readInput, readLifecycle } from './run.ts'
import {
  AGENT_EVENT,
  endDelegation,
  type Facts,
  factsOf,
  messageOf,
  type OpenClawSession,
  type Run,
  type RunTool,
  startDelegation,
} from './state.ts'
import { addToolFacts, endTool, readApproval, settleTools, startTool, toolOf } from './tools.ts'

type Read = (book: RunBook, facts: Facts) => void

/** The hooks that yield records. Other hooks exist for plugins that change what happens. */
const READINGS: Readonly<Record<string, Read>> = {
  before_model_resolve: (book, facts) => book.openedRun(facts, peek(facts.data, 'prompt')),
  llm_input: (book, facts) => {
    const run = book.openedRun(facts, peek(facts.data, 'prompt'))
    if (run !== undefined) readInput(run, facts.data)
  },
  model_call_started: inRun((run, facts) => {
    settleTools(run)
    startCall(run, facts)
  }),
  model_call_ended: inRun(endCall),
  before_message_write: inOpenRun(handleMessage),
  // Registered only on hosts without agent events: see `index.ts`.
  before_tool_call: ofTool((tool, { data }) => startTool(tool, peek(data, 'params'))),
  after_tool_call: ofTool(handleToolEnd),
  before_agent_finalize: inOpenRun(({ ending }) => {
    ending.finalized = true
  }),
  agent_end: inOpenRun(handleAgentEnd),
  llm_output: handleOutput,
  before_compaction: inSession((session, facts, { records }) => startCompaction(records, session, facts)),
  after_compaction: inSession((session, { at }) => endCompaction(session, at)),
  subagent_spawned: (book, facts) => {
    const child = sessionOfKey(book, peek(facts.data, 'childSessionKey'))
    const parent = sessionOfKey(book, peek(facts.context, 'requesterSessionKey'))
    if (child !== undefined && parent !== undefined) startDelegation(parent, child, facts)
  },
  subagent_ended: (book, { at, data }) => {
    const child = sessionOfKey(book, peek(data, 'targetSessionKey'))
    if (child !== undefined) endDelegation(child, at, data)
  },
  session_start: (book, facts) => book.sessions.of(facts),
  session_end: inSession(handleSessionEnd),
  gateway_stop: book => book.finishAll('gateway_stop'),
}

const QUIET = [
  // Added by this package's own captures.
  'REGISTER',
  ...['agent_turn_prepare', 'before_prompt_build', 'before_agent_run', 'before_agent_reply'],
  ...['heartbeat_prompt_contribution', 'before_reset', 'inbound_claim', 'channel_pairing_requested'],
  ...['message_received', 'message_sending', 'reply_payload_sending', 'message_sent', 'before_dispatch'],
  ...['reply_dispatch', 'resolve_exec_env', 'tool_result_persist', 'subagent_delivery_target', 'subagent_progress'],
  ...['gateway_start', 'cron_reconciled', 'cron_changed', 'before_install', 'skill_proposal_evaluate'],
  ...['skill_proposal_changed', 'skill_changed'],
]

export class OpenClawMachine extends EventMachine {
  readonly #book = new RunBook(this.records)
  protected readonly events: EventHandlers = eventHandlers(
    {
      ...Object.fromEntries(
        Object.entries(READINGS).map(([hook, read]) => [
          hook,
          (moment: TimedEvent) => read(this.#book, factsOf(moment)),
        ]),
      ),
      [AGENT_EVENT]: moment => STREAMS.get(peek(moment.data, 'stream'))?.(this.#book, factsOf(moment)),
    },
    QUIET,
  )

  protected endSessions(end: number): void {
    const at = Math.max(end, this.now)
    this.#book.finishAll('shutdown')
    for (const session of this.#book.sessions.values()) {
      endCompaction(session, at, 'unfinished')
      endDelegation(session, at)
    }
  }
}

type InRun = (run: Run, facts: Facts, book: RunBook) => void

function inOpenRun(read: InRun): Read {
  return (book, facts) => {
    const run = book.findRun(facts)
    if (run !== undefined) read(run, facts, book)
  }
}

function inRun(read: InRun): Read {
  return (book, facts) => {
    const run = book.openedRun(facts)
    if (run !== undefined) read(run, facts, book)
  }
}

function inSession(read: (session: OpenClawSession, facts: Facts, book: RunBook) => void): Read {
  return (book, facts) => {
    const session = book.sessions.of(facts)
    if (session !== undefined) read(session, facts, book)
  }
}

/** Handles a message that is added to the conversation. The event has a session and no run. */
function handleMessage(run: Run, { at, data }: Facts): void {
  const message = peek(data, 'message')
  const role = peek(message, 'role')
  if (role === 'assistant') joinMessage(run, message)
  if (role !== 'toolResult') return
  const tool = run.tools.get(idOf(peek(message, 'toolCallId')) ?? '')
  if (tool === undefined || tool.isWritten) return
  tool.isWritten = true
  run.addMessage(messageOf(message))
  if (tool.state === 'ended') return
  addToolFacts(tool, { endAt: at, result: message, isError: booleanOf(peek(message, 'isError')) })
}

function ofTool(read: (tool: RunTool, facts: Facts) => void): Read {
  return (book, facts) => {
    const { at, data, context } = facts
    const id = idOf(peek(data, 'toolCallId')) ?? idOf(peek(context, 'toolCallId'))
    const run = id === undefined ? undefined : book.openedRun(facts)
    if (run !== undefined && id !== undefined) read(toolOf(run, id, peek(data, 'toolName'), at), facts)
  }
}

function handleToolEnd(tool: RunTool, { at, data }: Facts): void {
  tool.args ??= peek(data, 'params')
  addToolFacts(tool, {
    result: peek(data, 'result'),
    error: peek(data, 'error'),
    durationMillis: peek(data, 'durationMs'),
  })
  endTool(tool, at)
}

/**
 * Handles `agent_end`, which fires for each attempt. Only `success: false` is used: the hook reports success even if the run's
 * call failed.
 */
function handleAgentEnd({ ending }: Run, { data }: Facts): void {
  if (booleanOf(peek(data, 'success')) === false) ending.agentFailed = true
}

/** Handles the last hook of an attempt. It also ends the run if no other event reports the end. */
function handleOutput(book: RunBook, facts: Facts): void {
  const run = book.findRun(facts)
  if (run === undefined) return
  const [text] = elementsOf(peek(facts.data, 'assistantTexts'), 1, 'last')
  if (run.seesConversation) run.answer ??= textOf(text)
  readRunUsage(run, peek(facts.data, 'usage'))
  if (!run.hasLifecycle && run.ending.finalized === true) book.finishRun(run, facts.at)
}

function sessionOfKey(book: RunBook, key: unknown): OpenClawSession | undefined {
  return book.sessions.of({ sessionKey: idOf(key), sessionId: undefined })
}

/** Handles `session_end`. After a reset, a session keeps its key and gets a new id. A compaction may change the id, too. */
function handleSessionEnd(session: OpenClawSession, { at, data }: Facts, book: RunBook): void {
  const reason = textOf(peek(data, 'reason'))
  const next = idOf(peek(data, 'nextSessionId'))
  const old = session.name
  if (next !== undefined) session.id = next
  if (reason === 'compaction') return
  if (session.run !== undefined) book.finishRun(session.run, session.run.lastAt, reason)
  if (session.lastRun === undefined) return
  session.lastRun = undefined
  const isReset = next !== undefined && (reason === 'reset' || reason === 'new')
  if (isReset) book.records.addRecord('on_session_reset', at, { old_session_id: old, new_session_id: next, reason })
  else book.records.addRecord('on_session_finalize', at, { session_id: old, reason })
}

const STREAMS: ReadonlyMap<unknown, Read> = new Map<unknown, Read>([
  ['lifecycle', lifecycle],
  ['tool', tool],
  ['item', item],
  ['run_status', status],
  [
    'approval',
    (book, facts) => {
      const run = book.findRun(facts)
      if (run !== undefined) readApproval(run, facts)
    },
  ],
])

/**
 * Returns true for streams of agent events that are handled. The host never waits for them and catches their errors. They are
 * preferred over hooks: a failure in `before_tool_call` would block the tool.
 */
export function handlesStream(stream: unknown): boolean {
  return STREAMS.has(stream)
}

/** Handles the start and end of a run. A run that failed before its first model call has no other events. */
function lifecycle(book: RunBook, facts: Facts): void {
  if (peek(facts.data, 'phase') === 'start') {
    book.announceRun(facts)
    return
  }
  const run = book.isAnnounced(facts) ? book.openedRun(facts) : book.findRun(facts)
  if (run === undefined) return
  run.hasLifecycle = true
  const endedAt = readLifecycle(run, facts)
  if (endedAt !== undefined) book.finishRun(run, endedAt)
}

function status(book: RunBook, facts: Facts): void {
  const { data } = facts
  const run = book.findRun(facts)
  if (run === undefined || peek(data, 'phase') !== 'retrying') return
  emitEndedCalls(run, { retried: true, maxRetries: peek(data, 'maxRetries'), reason: peek(data, 'reason') })
}

function tool(book: RunBook, facts: Facts): void {
  const { at, data } = facts
  const id = idOf(peek(data, 'toolCallId'))
  const phase = peek(data, 'phase')
  if (id === undefined) return
  if (phase === 'start') {
    const run = book.openedRun(facts)
    if (run === undefined) return
    const known = toolOf(run, id, peek(data, 'name'), at)
    emitEndedCalls(run, {})
    startTool(known, peek(data, 'args'), idOf(peek(data, 'parentToolCallId')))
  } else if (phase === 'result') {
    const isError = booleanOf(peek(data, 'isError'))
    addEndFacts(book, facts, id, { endAt: at, result: peek(data, 'result'), isError })
  }
}

/** Handles the display state of a tool: its start, and whether it was denied or failed. The arguments follow the start. */
function item(book: RunBook, facts: Facts): void {
  const { at, data } = facts
  const id = idOf(peek(data, 'toolCallId'))
  const phase = peek(data, 'phase')
  if (id === undefined || peek(data, 'kind') !== 'tool') return
  if (phase === 'start') {
    const run = book.openedRun(facts)
    if (run !== undefined) toolOf(run, id, peek(data, 'name'), plausibleTime(peek(data, 'startedAt'), at))
  } else if (phase === 'end') {
    const endAt = plausibleTime(peek(data, 'endedAt'), at)
    addEndFacts(book, facts, id, { endAt, status: peek(data, 'status'), error: peek(data, 'error') })
  }
}

function addEndFacts(book: RunBook, facts: Facts, id: string, news: Parameters<typeof addToolFacts>[1]): void {
  const known: RunTool | undefined = book.findRun(facts)?.tools.get(id)
  if (known !== undefined) addToolFacts(known, news)
}
