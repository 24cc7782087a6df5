import { movedBy, type Scenario, type WorkloadRecord } from './workload-record.ts'

/** Between two recordings, so that no two of one host are at work at the same time: some name no ids. */
const GAP_MILLIS = 1000

/** A server's page shows the last hour, and none of them the future. */
const NEWEST_BEFORE_NOW_MILLIS = 3 * 60_000

interface Extent {
  readonly first: number
  readonly last: number
}

function extentOf(records: readonly WorkloadRecord[]): Extent {
  const times = records.map(({ meta }) => meta.at)
  return times.reduce(({ first, last }, at) => ({ first: Math.min(first, at), last: Math.max(last, at) }), {
    first: Number.POSITIVE_INFINITY,
    last: Number.NEGATIVE_INFINITY,
  })
}

/** One after the other, from time 0 on. */
function inARow(scenarios: readonly Scenario[]): WorkloadRecord[] {
  const records: WorkloadRecord[] = []
  let startAt = 0
  for (const scenario of scenarios) {
    const { first, last } = extentOf(scenario.records)
    const shift = startAt - Math.floor(first)
    for (const record of scenario.records) records.push(movedBy(shift, record))
    startAt = Math.ceil(last) + shift + GAP_MILLIS
  }
  return records
}

/**
 * Merges lanes by time. Inside a lane the order stays, also where a record tells of something earlier than the one
 * before it: that is how it came.
 */
function merged(lanes: readonly (readonly WorkloadRecord[])[]): WorkloadRecord[] {
  const timed = lanes.flatMap(lane => {
    let dueAt = Number.NEGATIVE_INFINITY
    return lane.map(record => {
      dueAt = Math.max(dueAt, record.meta.at)
      return { record, dueAt }
    })
  })
  return timed.toSorted((a, b) => a.dueAt - b.dueAt).map(({ record }) => record)
}

/**
 * The recordings in a row, beside them the agents that are at work at the same time; the newest record of all is some
 * minutes old. Inside a scenario all distances are kept.
 */
export function onTimeline(
  recorded: readonly Scenario[],
  atOnce: readonly Scenario[],
  now: number,
): readonly WorkloadRecord[] {
  const lanes = [inARow(recorded), ...atOnce.map(scenario => inARow([scenario]))]
  const records = merged(lanes)
  const shift = Math.floor(now) - NEWEST_BEFORE_NOW_MILLIS - Math.ceil(extentOf(records).last)
  return records.map(record => movedBy(shift, record))
}
