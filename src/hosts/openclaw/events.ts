import { booleanOf, elementsOf, idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import type { HookRecord } from '../../contract/index.ts'
import { type HostMachine, hookRecord } from '../host-event.ts'
import { readAgentEvent } from './agent-events.ts'
import { endCall, joinMessage, readRunUsage, startCall } from './calls.ts'
import { endDelegation, startDelegation } from './delegations.ts'
import { AGENT_EVENT, type Facts, factsOf } from './facts.ts'
import { messageOf } from './messages.ts'
import { readInput } from './run.ts'
import { RunBook } from './run-book.ts'
import { endCompaction, startCompaction } from './side-work.ts'
import { addMessage, nameOf, type Run, type Session } from './state.ts'
import { endTool, learn, settleTools, startTool, toolOf } from './tools.ts'

type Read = (book: RunBook, facts: Facts) => HookRecord[]

/** Hooks that mean something. The others are told to plugins that want to change what happens. */
const HOOKS: ReadonlyMap<string, Read> = new Map<string, Read>([
  ['before_model_resolve', (book, facts) => book.in(facts, () => [], peek(facts.data, 'prompt'))],
  ['llm_input', input],
  ['model_call_started', (book, facts) => book.in(facts, run => [...settleTools(run), ...startCall(run, facts)])],
  ['model_call_ended', (book, facts) => book.in(facts, run => endCall(run, facts))],
  ['before_message_write', written],
  ['before_tool_call', toolBegins],
  ['after_tool_call', toolEnds],
  ['before_agent_finalize', (book, facts) => known(book, facts, run => noted(run, { finalized: true }))],
  ['agent_end', agentEnds],
  ['llm_output', output],
  ['before_compaction', (book, facts) => inSession(book, facts, session => startCompaction(session, facts))],
  ['after_compaction', (book, facts) => inSession(book, facts, session => endCompaction(session, facts.at))],
  ['subagent_spawned', spawned],
  ['subagent_ended', (book, facts) => endDelegationOf(book, facts)],
  ['session_start', (book, facts) => inSession(book, facts, () => [])],
  ['session_end', (book, facts) => inSession(book, facts, session => sessionEnds(book, session, facts))],
  ['gateway_stop', book => book.finishAll('gateway_stop')],
])

const OF_NO_INTEREST: ReadonlySet<string> = new Set([
  // What a capture has of our own making.
  'REGISTER',
  ...['agent_turn_prepare', 'before_prompt_build', 'before_agent_run', 'before_agent_reply'],
  ...['heartbeat_prompt_contribution', 'before_reset', 'inbound_claim', 'channel_pairing_requested'],
  ...['message_received', 'message_sending', 'reply_payload_sending', 'message_sent', 'before_dispatch'],
  ...['reply_dispatch', 'resolve_exec_env', 'tool_result_persist', 'subagent_delivery_target', 'subagent_progress'],
  ...['gateway_start', 'cron_reconciled', 'cron_changed', 'before_install', 'skill_proposal_evaluate'],
  ...['skill_proposal_changed', 'skill_changed'],
])

/** Hooks and agent events of OpenClaw 2026.9.6 → hook records. */
export function createOpenClawMachine(): HostMachine {
  const book = new RunBook()
  let lastAt = 0
  return {
    accept(event) {
      lastAt = numberOf(event.at) ?? lastAt
      const facts = factsOf(event, lastAt)
      if (event.event === AGENT_EVENT) return readAgentEvent(book, peek(event.data, 'stream'), facts)
      return HOOKS.get(event.event)?.(book, facts) ?? (OF_NO_INTEREST.has(event.event) ? [] : undefined)
    },
    end: at => endAll(book, Math.max(at, lastAt)),
  }
}

function endAll(book: RunBook, at: number): HookRecord[] {
  const records = book.finishAll('shutdown')
  const facts = factsOf({ event: 'end' }, at)
  for (const session of book.sessions.values()) {
    records.push(...endCompaction(session, at, 'unfinished'), ...endDelegation(session, facts))
  }
  return records
}

function known(book: RunBook, facts: Facts, then: (run: Run) => HookRecord[]): HookRecord[] {
  const run = book.find(facts)
  return run === undefined ? [] : then(run)
}

function inSession(book: RunBook, facts: Facts, then: (session: Session) => HookRecord[]): HookRecord[] {
  const session = book.sessions.of(facts)
  return session === undefined ? [] : then(session)
}

function noted(run: Run, said: Run['ending']): HookRecord[] {
  Object.assign(run.ending, said)
  return []
}

function input(book: RunBook, facts: Facts): HookRecord[] {
  const read = (run: Run): HookRecord[] => {
    readInput(run, facts.data)
    return []
  }
  return book.in(facts, read, peek(facts.data, 'prompt'))
}

/** A message goes into the conversation. The event names the session and no run. */
function written(book: RunBook, facts: Facts): HookRecord[] {
  const message = peek(facts.data, 'message')
  const role = peek(message, 'role')
  return known(book, facts, run => {
    if (role === 'assistant') return joinMessage(run, message)
    if (role !== 'toolResult') return []
    const tool = run.tools.get(idOf(peek(message, 'toolCallId')) ?? '')
    if (tool === undefined || tool.isWritten) return []
    tool.isWritten = true
    addMessage(run, messageOf(message))
    if (!tool.endTold) {
      learn(tool, { endAt: facts.at, result: message, isError: booleanOf(peek(message, 'isError')) })
    }
    return []
  })
}

/** Told only by hosts without agent events: see `index.ts`. */
function toolBegins(book: RunBook, facts: Facts): HookRecord[] {
  const id = idOf(peek(facts.data, 'toolCallId')) ?? idOf(peek(facts.context, 'toolCallId'))
  if (id === undefined) return []
  return book.in(facts, run => {
    const tool = toolOf(run, id, peek(facts.data, 'toolName'), facts.at)
    return startTool(run, tool, peek(facts.data, 'params'))
  })
}

/** Comes for each tool, also for one that was refused or has failed. */
function toolEnds(book: RunBook, facts: Facts): HookRecord[] {
  const { at, data } = facts
  const id = idOf(peek(data, 'toolCallId')) ?? idOf(peek(facts.context, 'toolCallId'))
  if (id === undefined) return []
  return book.in(facts, run => {
    const tool = toolOf(run, id, peek(data, 'toolName'), at)
    tool.args ??= peek(data, 'params')
    learn(tool, { result: peek(data, 'result'), error: peek(data, 'error'), durationMillis: peek(data, 'durationMs') })
    return endTool(run, tool, at)
  })
}

/** Comes for each attempt, and calls one whose call has failed a success: only its `false` tells something. */
function agentEnds(book: RunBook, facts: Facts): HookRecord[] {
  const hasFailed = booleanOf(peek(facts.data, 'success')) === false
  return known(book, facts, run => noted(run, hasFailed ? { agentFailed: true } : {}))
}

/** The last word of an attempt; of the run too, where nothing else would tell that it is over. */
function output(book: RunBook, facts: Facts): HookRecord[] {
  return known(book, facts, run => {
    const [text] = elementsOf(peek(facts.data, 'assistantTexts'), 1, 'last')
    if (run.seesConversation) run.answer ??= textOf(text)
    const records = readRunUsage(run, peek(facts.data, 'usage'))
    if (run.hasLifecycle || run.ending.finalized !== true) return records
    return [...records, ...book.finish(run, facts.at)]
  })
}

function spawned(book: RunBook, facts: Facts): HookRecord[] {
  const child = sessionOfKey(book, peek(facts.data, 'childSessionKey'))
  const parent = sessionOfKey(book, peek(facts.context, 'requesterSessionKey'))
  return child === undefined || parent === undefined ? [] : startDelegation(parent, child, facts)
}

function endDelegationOf(book: RunBook, facts: Facts): HookRecord[] {
  const child = sessionOfKey(book, peek(facts.data, 'targetSessionKey'))
  return child === undefined ? [] : endDelegation(child, facts)
}

function sessionOfKey(book: RunBook, key: unknown): Session | undefined {
  return book.sessions.of({ sessionKey: idOf(key), sessionId: undefined })
}

/** The key of a session stays when it is reset, and another id goes with it. A compaction may give it one, too. */
function sessionEnds(book: RunBook, session: Session, { at, data }: Facts): HookRecord[] {
  const reason = textOf(peek(data, 'reason'))
  const next = idOf(peek(data, 'nextSessionId'))
  const old = nameOf(session)
  if (next !== undefined) session.id = next
  if (reason === 'compaction') return []
  const records = session.run === undefined ? [] : book.finish(session.run, session.run.lastAt, reason)
  if (session.lastRun === undefined) return records
  session.lastRun = undefined
  const isReset = next !== undefined && (reason === 'reset' || reason === 'new')
  const end = isReset
    ? hookRecord('on_session_reset', at, { old_session_id: old, new_session_id: next, reason })
    : hookRecord('on_session_finalize', at, { session_id: old, reason })
  return [...records, end]
}
