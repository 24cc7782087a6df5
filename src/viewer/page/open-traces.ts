import { type OpenState, openState } from '../../reading/open-turns.ts'
import type { OpenTraceRow } from '../server/api.ts'

/** A browser cuts longer titles anyway. */
const MAX_TITLE_CHARS = 80

export function stateOf({ state, waitingSince, silentSince }: OpenTraceRow, now: number): OpenState {
  const isOwnerDead = state === 'owner-dead'
  return openState({ isOwnerDead, isWaitingForPerson: waitingSince !== undefined, silentMillis: now - silentSince })
}

export function countOpen(open: readonly OpenTraceRow[]): { readonly living: number; readonly waiting: number } {
  const living = open.filter(({ state }) => state === 'open')
  return { living: living.length, waiting: waitingTraces(open).length }
}

export function waitingTraces(open: readonly OpenTraceRow[]): OpenTraceRow[] {
  const waiting = open.filter(({ state, waitingSince }) => state === 'open' && waitingSince !== undefined)
  return waiting.sort((a, b) => (a.waitingSince ?? 0) - (b.waitingSince ?? 0))
}

/** The question to the user, in one printable line. */
export function questionOf({ doing, title }: OpenTraceRow): string {
  const approval = doing.find(({ command }) => command !== undefined) ?? doing.find(({ kind }) => kind === 'approval')
  return approval?.hint || approval?.name || title
}

/** `● 1 waiting: git push --force · Sessions · hookspan`. A disconnected page cannot know what is open, so it shows only that. */
export function tabTitle(open: readonly OpenTraceRow[], isConnected: boolean, page = ''): string {
  const [first] = waitingTraces(open)
  const { living, waiting } = countOpen(open)
  const question = first === undefined ? '' : questionOf(first).slice(0, MAX_TITLE_CHARS)
  const what = waiting > 0 ? `● ${waiting} waiting: ${question}` : living > 0 ? `${living} open` : ''
  const title = isConnected ? what : 'not connected'
  return [title, page, 'hookspan'].filter(part => part !== '').join(' · ')
}

const RESUME: Readonly<Record<string, string>> = {
  'claude-code': 'claude --resume',
  codex: 'codex resume',
  copilot: 'copilot --resume',
  gemini: 'gemini --resume',
  hermes: 'hermes --resume',
  'hermes-agent': 'hermes --resume',
  opencode: 'opencode --session',
  pi: 'pi --session',
  qwen: 'qwen --resume',
}

/** Ids are untrusted text. An id that a shell might interpret is never put into a command. */
const PLAIN_ID = /^\w[\w.-]{0,127}$/

export function resumeCommand({ agent, sessionId }: OpenTraceRow): string | undefined {
  return Object.hasOwn(RESUME, agent) && PLAIN_ID.test(sessionId) ? `${RESUME[agent]} ${sessionId}` : undefined
}
