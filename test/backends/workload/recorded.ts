import { createReadStream, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { RecordReader } from '../../../src/cli/hook-records.ts'
import type { Scenario, WorkloadRecord } from './workload-record.ts'

const CAPTURES = new URL('../../fixtures/', import.meta.url).pathname
const RECORDINGS = new URL('../../../fixtures/', import.meta.url).pathname

/**
 * Captures of sessions that others tell of, too (the same run by another way), one with a side call that names nobody, and
 * questions that a guardian passes on (two spans, one question): the second account, which goes by sessions and counts records,
 * cannot be made of them. `test/traces/hermes-live.test.ts` has their trees.
 */
const TOLD_ELSEWHERE: ReadonlySet<string> = new Set([
  'hermes/allowed',
  'hermes/denied',
  'hermes/edit-review-overlaps',
  'hermes/v022-fromwebhook-mapped',
  'hermes/v022-inter1',
])

/** Agents whose runs have the same ids each time: their model server, or the page that describes them, gives them so. */
const SAME_IDS: ReadonlySet<string> = new Set(['copilot', 'cursor', 'locus', 'qwen'])
const IDS = [
  ...['session_id', 'turn_id', 'task_id', 'api_request_id', 'tool_call_id', 'old_session_id', 'new_session_id'],
  ...['parent_session_id', 'parent_turn_id', 'parent_subagent_id', 'child_session_id', 'child_subagent_id'],
]

/** Every capture of a real host and every bundled recording, read as `hookspan replay` reads them. */
export async function recordedScenarios(isWanted: (name: string) => boolean): Promise<Scenario[]> {
  const folders = readdirSync(CAPTURES).toSorted()
  const files = [
    ...folders.flatMap(folder => jsonlOf(join(CAPTURES, folder), folder)),
    ...jsonlOf(RECORDINGS, 'recordings'),
  ]
  const wanted = files.filter(({ name }) => isWanted(name) && !TOLD_ELSEWHERE.has(name))
  return Promise.all(
    wanted.map(async ({ name, path }) => {
      const records = await recordsOf(path)
      const [folder = ''] = name.split('/')
      return { name, records: SAME_IDS.has(folder) ? records.map(record => apart(record, name)) : records }
    }),
  )
}

/** The same run with ids of its own: all of them go to one backend. */
function apart(record: WorkloadRecord, name: string): WorkloadRecord {
  const payload: Record<string, unknown> = { ...record.payload }
  for (const id of IDS) if (typeof payload[id] === 'string') payload[id] = `${payload[id]}~${name.replace('/', '-')}`
  return { ...record, payload: payload as WorkloadRecord['payload'] }
}

function jsonlOf(folder: string, prefix: string): { readonly name: string; readonly path: string }[] {
  const files = readdirSync(folder).filter(file => file.endsWith('.jsonl'))
  return files
    .toSorted()
    .map(file => ({ name: `${prefix}/${file.slice(0, -'.jsonl'.length)}`, path: join(folder, file) }))
}

async function recordsOf(path: string): Promise<WorkloadRecord[]> {
  const records: WorkloadRecord[] = []
  for await (const entry of new RecordReader(undefined).read(createReadStream(path))) {
    if (!('record' in entry)) throw new Error(`${path} line ${entry.line}: ${entry.problem}`)
    const { hook, payload, meta } = entry.record
    const { at, host } = meta
    if (at === undefined || host === undefined) throw new Error(`${path}: a ${hook} without a time or a host`)
    records.push({ hook, payload: payload as WorkloadRecord['payload'], meta: { ...meta, at, host } })
  }
  return records
}
