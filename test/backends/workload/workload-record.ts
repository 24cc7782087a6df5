import type { HookMeta } from '../../../src/contract/index.ts'

/** A hook record of the workload: what `plugin.on` takes, and always with a time. */
export interface WorkloadRecord {
  readonly hook: string
  readonly payload: Readonly<Record<string, unknown>>
  readonly meta: HookMeta & { readonly at: number; readonly host: string }
}

/** Records of one recording, in the order in which they are to be fed. Their times may go back a little. */
export interface Scenario {
  /** `pi/basic`, `recordings/hermes-turn`, `generated/agents`. */
  readonly name: string
  readonly records: readonly WorkloadRecord[]
}

const SECONDS_FIELDS = ['started_at', 'ended_at', 'first_chunk_at']

/** The same record at another time; what its payload says in epoch seconds goes with it. */
export function movedBy(millis: number, { hook, payload, meta }: WorkloadRecord): WorkloadRecord {
  const moved: Record<string, unknown> = { ...payload }
  for (const field of SECONDS_FIELDS) {
    const seconds = moved[field]
    if (typeof seconds === 'number') moved[field] = seconds + millis / 1000
  }
  return { hook, payload: moved, meta: { ...meta, at: meta.at + millis } }
}
