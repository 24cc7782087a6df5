import { idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import type { LoopEnd } from '../base/agent-loop.ts'
import { openChild, settleCalls } from './calls.ts'
import { settleRequest } from './requests.ts'
import { CodexLoop, type CodexSession } from './session.ts'

export interface CodexLoopKey {
  readonly agentId: string | undefined
  readonly turnId: string
}

export function loopKeyOf(data: unknown): CodexLoopKey | undefined {
  const turnId = idOf(peek(data, 'turn_id'))
  return turnId === undefined ? undefined : { agentId: idOf(peek(data, 'agent_id')), turnId }
}

export function loopFor(session: CodexSession, at: number, key: CodexLoopKey, data: unknown): CodexLoop {
  const known = session.findLoop(key.agentId, key.turnId)
  if (known !== undefined) return known
  const loop = new CodexLoop(session, key, at)
  loop.model = textOf(peek(data, 'model')) ?? loop.model
  session.addLoop(loop)
  if (key.agentId === undefined) openTurn(session, loop)
  else openChild(session, key.agentId, loop, data)
  return loop
}

function openTurn(session: CodexSession, loop: CodexLoop): void {
  const { main } = session
  if (main !== undefined) endLoop(main, main.lastAt, { outcome: 'interrupted', reason: 'interrupted' })
  session.main = loop
  loop.announceSession()
}

/** Handles `UserPromptSubmit`. For a running turn, it is a message that joined the turn. */
export function handlePrompt(loop: CodexLoop, at: number, data: unknown): void {
  if (loop.prompt === undefined) return
  loop.prompt = { at: Math.max(loop.startAt, at), text: peek(data, 'prompt') }
  loop.emitPrompt()
}

/** Handles `SessionStart`, a new process of the agent. A process that was killed has left its turn open. */
export function handleSessionStart(session: CodexSession, data: unknown): void {
  session.model = textOf(peek(data, 'model')) ?? session.model
  const source = peek(data, 'source')
  const isSameProcess = source === 'compact' || source === 'clear'
  if (!isSameProcess) endAllLoops(session, 'abandoned')
}

/** Handles `SessionEnd`: the process exits. The session may be resumed, so it is not finalized: its turn numbers continue. */
export function handleSessionEnd(session: CodexSession, at: number, data: unknown): void {
  endAllLoops(session, textOf(peek(data, 'reason')) ?? 'other', at)
}

function endAllLoops({ loops, tasks }: CodexSession, reason: string, at?: number): void {
  for (const loop of loops.values()) endLoop(loop, at ?? loop.lastAt, { outcome: 'interrupted', reason })
  for (const task of tasks.values()) task.emitEnd(at ?? task.startAt, { status: 'interrupted' })
  tasks.clear()
}

export function handleStop(loop: CodexLoop, at: number, data: unknown): void {
  endLoop(loop, at, { outcome: 'completed', text: peek(data, 'last_assistant_message') })
}

export function handleInterrupt(loop: CodexLoop, at: number): void {
  endLoop(loop, at, { outcome: 'interrupted', reason: 'interrupted' })
}

export function handleTurnEnd(loop: CodexLoop, data: unknown): void {
  const at = numberOf(peek(data, 'at'))
  const recorded = peek(data, 'outcome')
  const outcome = recorded === 'failed' || recorded === 'interrupted' ? recorded : 'completed'
  // An end before the turn's start comes from a file that is being read again.
  if (at === undefined || at < loop.startAt) return
  endLoop(loop, at, { outcome, reason: textOf(peek(data, 'reason')), text: peek(data, 'text') })
}

function endLoop(loop: CodexLoop, at: number, end: LoopEnd): void {
  if (loop.hasEnded) return
  loop.hasEnded = true
  const { session } = loop
  if (session.main === loop) session.main = undefined
  loop.emitPrompt()
  settleRequest(loop, at)
  settleCalls(loop, at)
  loop.emitLoopEnd(at, end)
}
