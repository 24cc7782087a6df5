import fc from './fast-check.ts'
import { type FedRecord, START_AT } from './feed.ts'
import type { ScriptRun, Step } from './script-run.ts'

/** What happens to records on their way. All empty: every session is told in one piece, and each record once. */
export interface Arrival {
  /** Which of the sessions that can go on goes on next. */
  readonly picks: readonly number[]
  readonly repeats: readonly Repeat[]
  /** Records that never come. */
  readonly losses: readonly Which[]
  readonly delays: readonly Delay[]
}

/** A record, named so that it is still the same one when a failing script shrinks. */
interface Which {
  readonly hook: string
  /** Ordinal among the records of that hook, as they come; counted round when there are fewer. */
  readonly nth: number
}

interface Delay extends Which {
  /** So many records later than it should. */
  readonly by: number
}

/** The same record once more. */
interface Repeat extends Delay {
  /** Whether both carry a delivery id. */
  readonly isNumbered: boolean
}

const HOOKS = [
  'on_session_start',
  'pre_llm_call',
  'pre_api_request',
  'post_api_request',
  'api_request_error',
  'pre_tool_call',
  'post_tool_call',
  'pre_approval_request',
  'post_approval_response',
  'pre_control_hook',
  'post_control_hook',
  'subagent_start',
  'subagent_stop',
  'pre_auxiliary_call',
  'post_auxiliary_call',
  'post_llm_call',
  'on_session_end',
]

const which = { hook: fc.constantFrom(...HOOKS), nth: fc.nat(40) }
const by = fc.oneof(fc.nat(5), fc.nat(200))
const none = fc.constant([])
const picks = fc.oneof(none, fc.array(fc.nat(11), { maxLength: 400, size: 'max' }))
const repeats = fc.oneof(
  none,
  fc.array(fc.record<Repeat>({ ...which, by, isNumbered: fc.boolean() }), { maxLength: 60 }),
)
const losses = fc.oneof(none, fc.array(fc.record<Which>(which), { maxLength: 40 }))
const delays = fc.oneof(none, fc.array(fc.record<Delay>({ ...which, by }), { maxLength: 40 }))

/** Any interleaving of the sessions, any record any number of times. */
export const COMPLETE_ARRIVAL: fc.Arbitrary<Arrival> = fc.record({ repeats, picks, losses: none, delays: none })

/** That, and records that come late or not at all. */
export const ANY_ARRIVAL: fc.Arbitrary<Arrival> = fc.record({ repeats, picks, losses, delays })

const start = {
  ...which,
  hook: fc.constantFrom('pre_api_request', 'pre_tool_call', 'pre_control_hook', 'pre_auxiliary_call'),
}

/** Everything once, but starts may come after their ends, as from threads of their own. */
export const LATE_STARTS: fc.Arbitrary<Arrival> = fc.record({
  repeats: none,
  picks,
  losses: none,
  delays: fc.array(fc.record<Delay>({ ...start, by }), { minLength: 1, maxLength: 40 }),
})

export const IN_ORDER: Arrival = { picks: [], repeats: [], losses: [], delays: [] }

/** The records as they come in. */
export function arrivals(run: ScriptRun, { picks, repeats, losses, delays }: Arrival): FedRecord[] {
  const steps = interleave(run.lanes, picks)
  const records = number(steps, repeats)
  const order = records.map((_, index) => index)
  for (const { by, ...which } of delays) move(order, placeOf(records, which), by)
  const lost = new Set(losses.map(which => placeOf(records, which)))
  const copies = repeats.map(({ by, ...which }) => ({ place: placeOf(records, which), by }))
  const told = order.flatMap((index, position) => {
    const due = copies.filter(({ place, by }) => place !== undefined && comesAt(order, place, by) === position)
    return [...(lost.has(index) ? [] : [index]), ...due.map(({ place }) => place as number)].map(
      at => records[at] as FedRecord,
    )
  })
  return dated(told)
}

/** A host that says no time is taken to be where the record before it was: the first one has to be somewhere. */
function dated(records: readonly FedRecord[]): FedRecord[] {
  const [first] = records
  const said = { at: START_AT, ...first } as FedRecord
  return records.map(record => (record === first ? said : record))
}

function placeOf(records: readonly FedRecord[], { hook, nth }: Which): number | undefined {
  const places = [...records.keys()].filter(index => records[index]?.hook === hook)
  return places[nth % Math.max(1, places.length)]
}

function comesAt(order: readonly number[], place: number, by: number): number {
  return Math.min(order.length - 1, order.indexOf(place) + by)
}

function move(order: number[], place: number | undefined, by: number): void {
  if (place === undefined) return
  const from = order.indexOf(place)
  order.splice(from, 1)
  order.splice(from + by, 0, place)
}

/** A repeat of a record that has no id of its own can only be known by a delivery id. */
function number(steps: readonly Step[], repeats: readonly Repeat[]): FedRecord[] {
  const records: FedRecord[] = steps.map(step => step.record)
  for (const repeat of repeats) {
    const place = placeOf(records, repeat)
    if (place === undefined || !(repeat.isNumbered || steps[place]?.isAnonymous)) continue
    records[place] = { ...(records[place] as FedRecord), delivery_id: `d${place}` }
  }
  return records
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
      const step = lanes[lane]?.[next[lane] as number] as Step
      next[lane] = (next[lane] as number) + 1
      told.push(step)
      done.add(step)
    } while (lanes[lane]?.[next[lane] as number]?.glued)
  }
  return told
}
