import type { WorkloadRecord } from './workload-record.ts'

const REPEAT_EVERY = 37
const REPEAT_AFTER = 5

/** Now and then a record comes once more: of the same delivery, or sent again by a host that numbers none. */
export function withRepeats(records: readonly WorkloadRecord[]): WorkloadRecord[] {
  const numbered = records.map((record, at) => {
    const isKnown = isRecognisable(record) && at % (2 * REPEAT_EVERY) === 0
    return at % REPEAT_EVERY !== 0 || isKnown ? record : { ...record, meta: { ...record.meta, delivery_id: `d${at}` } }
  })
  return numbered.flatMap((record, at) => {
    const repeated =
      at >= REPEAT_AFTER && (at - REPEAT_AFTER) % REPEAT_EVERY === 0 ? numbered[at - REPEAT_AFTER] : undefined
    return repeated === undefined ? [record] : [record, repeated]
  })
}

/** Only what has an id of its own can be known to be the same again. */
function isRecognisable({ hook, payload }: WorkloadRecord): boolean {
  if (hook.endsWith('_tool_call')) return payload['tool_call_id'] !== undefined
  return true
}
