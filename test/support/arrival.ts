import fc from 'fast-check'
import type { FedRecord } from './feed.ts'
import type { ScriptRun, Step } from './script-run.ts'

/** What happens to records on their way. All empty: every session is told in one piece, and each record once. */
export interface Arrival {
  /** Which of the sessions that can go on goes on next. */
  readonly picks: readonly number[]
  readonly repeats: readonly Repeat[]
  /** Places in the order of arrival whose record never comes. */
  readonly losses: readonly number[]
  readonly delays: readonly { readonly place: number; readonly by: number }[]
}

/** The same record once more. */
export interface Repeat {
  readonly place: number
  /** So many records later. */
  readonly later: number
  /** Whether both carry a delivery id. */
  readonly isNumbered: boolean
}

const place: fc.Arbitrary<number> = fc.nat(999)

const picks = fc.array(fc.nat(11), { maxLength: 400, size: 'max' })
const repeats = fc.array(fc.record<Repeat>({ place, later: fc.oneof(fc.nat(5), fc.nat(200)), isNumbered: fc.boolean() }), {
  maxLength: 60,
})
const none = fc.constant([])

/** Any interleaving of the sessions, any record any number of times. */
export const COMPLETE_ARRIVAL: fc.Arbitrary<Arrival> = fc.record({ picks, repeats, losses: none, delays: none })

/** That, and records that come late or not at all. */
export const ANY_ARRIVAL: fc.Arbitrary<Arrival> = fc.record({
  picks,
  repeats,
  losses: fc.oneof(none, fc.array(place, { maxLength: 40 })),
  delays: fc.oneof(none, fc.array(fc.record({ place, by: fc.oneof(fc.nat(5), fc.nat(200)) }), { maxLength: 40 })),
})

export const IN_ORDER: Arrival = { picks: [], repeats: [], losses: [], delays: [] }

/** The records as they come in. */
export function arrivals(run: ScriptRun, arrival: Arrival): FedRecord[] {
  const steps = interleave(run.lanes, arrival.picks)
  const repeated = repeat(steps, arrival.repeats)
  const lost = lose(repeated, arrival.losses)
  return delay(lost, arrival.delays)
}

function interleave(lanes: ScriptRun['lanes'], picks: readonly number[]): Step[] {
  const told: Step[] = []
  const done = new Set<Step>()
  const next = lanes.map(() => 0)
  const readyLanes = (): number[] =>
    [...lanes.keys()].filter(lane => {
      const step = lanes[lane]?.[next[lane] as number]
      return step !== undefined && (step.after === undefined || done.has(step.after))
    })
  for (let turn = 0, ready = readyLanes(); ready.length > 0; turn += 1, ready = readyLanes()) {
    const lane = ready[(picks[turn] ?? 0) % ready.length] as number
    do {
      const step = lanes[lane]?.[next[lane]++] as Step
      told.push(step)
      done.add(step)
    } while (lanes[lane]?.[next[lane] as number]?.glued)
  }
  return told
}

function repeat(steps: readonly Step[], repeats: readonly Repeat[]): FedRecord[] {
  const records = steps.map(step => step.record)
  if (steps.length === 0) return records
  const copies: { at: number; record: FedRecord }[] = []
  for (const { place, later, isNumbered } of repeats) {
    const index = place % steps.length
    if (isNumbered || steps[index]?.isAnonymous) records[index] = { ...(records[index] as FedRecord), delivery_id: `d${index}` }
    copies.push({ at: index + later, record: records[index] as FedRecord })
  }
  return records.flatMap((record, index) => [
    record,
    ...copies.filter(({ at }) => at === index || (index === records.length - 1 && at > index)).map(copy => copy.record),
  ])
}

function lose(records: readonly FedRecord[], losses: readonly number[]): FedRecord[] {
  const lost = new Set(losses.map(place => place % Math.max(1, records.length)))
  return records.filter((_, index) => !lost.has(index))
}

function delay(records: readonly FedRecord[], delays: Arrival['delays']): FedRecord[] {
  const late = new Map(delays.map(({ place, by }) => [place % Math.max(1, records.length), by]))
  return records
    .map((record, index) => ({ record, order: index + (late.get(index) ?? 0) + (late.has(index) ? 0.5 : 0) }))
    .sort((a, b) => a.order - b.order)
    .map(({ record }) => record)
}
