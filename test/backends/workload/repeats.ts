import type { WorkloadRecord } from './workload-record.ts'

/**
 * A repeated record counts once. It is one that comes with the delivery id of another, or one that says the very same of
 * the same instant and of something that has an id: two calls without one may well look alike.
 */
export function withoutRepeats(records: readonly WorkloadRecord[]): WorkloadRecord[] {
  const heard = new Set<string>()
  return records.filter(record => {
    const names = namesOf(record)
    const isRepeat = names.some(name => heard.has(name))
    for (const name of names) heard.add(name)
    return !isRepeat
  })
}

function namesOf({ hook, payload, meta }: WorkloadRecord): string[] {
  const { delivery_id, host, at } = meta
  const isAnonymousTool = hook.endsWith('_tool_call') && payload['tool_call_id'] === undefined
  return [
    ...(delivery_id === undefined ? [] : [JSON.stringify([host, delivery_id])]),
    ...(isAnonymousTool ? [] : [JSON.stringify([hook, host, at, payload])]),
  ]
}
