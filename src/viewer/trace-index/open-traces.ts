import { basename } from 'node:path'
import { isAlive, listCheckpoints } from '../../delivery/trace-log/index.ts'
import type { OpenTraceRow } from './answers.ts'
import { sessionTitle, titleOf } from './session-queries.ts'
import type { TraceTable } from './trace-table.ts'

/** A machine crash leaves many traces that look open. */
const MAX_TRACES = 300

/**
 * Open traces, the latest activity first.
 *
 * @param stateDirectory only for our own log, in which each process records the file it writes
 */
export async function readOpenTraces(
  table: TraceTable,
  stateDirectory: string | undefined,
  now: number,
): Promise<OpenTraceRow[]> {
  const found = [...table.traces].flatMap(entry => {
    const { turn, open } = entry.facts ?? {}
    return turn === undefined || open === undefined ? [] : [{ entry, turn, open }]
  })
  const latest = found.sort((a, b) => b.turn.lastAt - a.turn.lastAt).slice(0, MAX_TRACES)
  const owned = latest.length === 0 ? undefined : await ownedFiles(stateDirectory, now)
  const rows: OpenTraceRow[] = []
  for (const { entry, turn, open } of latest) {
    const { paths, ...facts } = open
    const isOwned = owned === undefined || paths.some(path => owned.has(basename(path)))
    rows.push({
      traceId: turn.traceId,
      sessionId: turn.sessionId,
      agent: turn.agent,
      model: turn.model,
      title: await titleOf(entry),
      sessionTitle: await sessionTitle(table, turn.sessionId),
      state: isOwned ? 'open' : 'owner-dead',
      isOwnerAlive: owned !== undefined && isOwned,
      startAt: turn.startAt,
      silentSince: turn.lastAt,
      tokens: turn.tokens,
      cost: turn.cost,
      ...facts,
    })
  }
  return rows
}

async function ownedFiles(stateDirectory: string | undefined, now: number): Promise<ReadonlySet<string> | undefined> {
  if (stateDirectory === undefined) return undefined
  const entries = await listCheckpoints(stateDirectory)
  const owned = entries.filter(({ owner, heartbeatAt }) => owner !== undefined && isAlive(owner, heartbeatAt, now))
  return new Set(owned.map(({ segment }) => `${segment}.jsonl`))
}
