import { setTimeout as pause } from 'node:timers/promises'
import { Connection, requestOf } from './connection.mjs'
import { median, quantile } from './figures.mjs'
import { turnsOf } from './hook-load.mjs'
import { withReceiver } from './running-receiver.mjs'

const RUNS = 3
const AGENTS = 16
/** Of each agent; the first are not looked at: the compiler is at them. */
const WARM_UP_TURNS = 30
const TURNS = 70
const LINES_A_REQUEST = 100
/** At a thousand a second. */
const PACED_TURNS = 250
const PACED_CONNECTIONS = 64
const PACED_WARM_UP_TURNS = 4
/** What a start leaves to do is done by then. */
const SETTLE_MILLIS = 3000
const IDLE_MILLIS = 10_000

const PATH = '/v1/hooks'
const WAYS = {
  oneByOne: (events, token) => events.map(event => requestOf(PATH, event, token)),
  lines: (events, token) =>
    Array.from({ length: Math.ceil(events.length / LINES_A_REQUEST) }, (_, n) => {
      const lines = events.slice(n * LINES_A_REQUEST, (n + 1) * LINES_A_REQUEST).join('\n')
      return requestOf(PATH, lines, token, 'application/x-ndjson')
    }),
}

async function withConnections(port, count, measure) {
  const connections = await Promise.all(Array.from({ length: count }, () => Connection.open(port)))
  try {
    return await measure(connections)
  } finally {
    for (const connection of connections) connection.close()
  }
}

/** Tells a connection's requests one behind another, all connections at once. */
async function tell(connections, requests) {
  await Promise.all(
    connections.map(async (connection, n) => {
      for (const request of requests[n]) await connection.ask(request)
    }),
  )
}

/** Recorded, of all agents. */
const hooksIn = ({ recorder }) => Object.values(recorder.agents).reduce((sum, { hooks }) => sum + hooks.ok, 0)

/** Events for each second of CPU time, until they are written; all agents at once, each of which waits for its answers. */
function throughput(requestsOf) {
  return withReceiver(receiver =>
    withConnections(receiver.port, AGENTS, async connections => {
      const part = async (from, turns) => {
        const prepared = connections.map((_, n) => turnsOf(`agent-${n}`, from, turns))
        const requests = prepared.map(events => requestsOf(events, receiver.token))
        const before = await receiver.taken()
        await tell(connections, requests)
        const recorded = hooksIn(await receiver.rested())
        const { cpuMillis, bytes } = await receiver.taken()
        return { events: prepared.flat().length, recorded, bytes, cpuMillis: cpuMillis - before.cpuMillis }
      }
      const first = await part(0, WARM_UP_TURNS)
      const { events, recorded, bytes, cpuMillis } = await part(WARM_UP_TURNS, TURNS)
      const told = first.events + events
      if (recorded !== told) throw new Error(`${told} events were told, ${recorded} are recorded`)
      return { perSecond: (events * 1000) / cpuMillis, bytes, told }
    }),
  )
}

/** Milliseconds until an event is answered, at a thousand a second. */
function answers() {
  return withReceiver(receiver =>
    withConnections(receiver.port, PACED_CONNECTIONS, async connections => {
      const requestsOf = (session, turns) => WAYS.oneByOne(turnsOf(session, 0, turns), receiver.token)
      await tell(
        connections,
        connections.map((_, n) => requestsOf(`first-${n}`, PACED_WARM_UP_TURNS)),
      )
      await receiver.rested()
      const requests = requestsOf('paced', PACED_TURNS)
      const free = connections.map(() => Promise.resolve())
      const millis = []
      const startedAt = performance.now()
      for (const [n, request] of requests.entries()) {
        while (performance.now() - startedAt < n) await pause(1)
        const askedAt = performance.now()
        const at = n % PACED_CONNECTIONS
        free[at] = free[at]
          .then(() => connections[at].ask(request))
          .then(() => millis.push(performance.now() - askedAt))
      }
      await Promise.all(free)
      return { p50: quantile(millis, 0.5), p99: quantile(millis, 0.99) }
    }),
  )
}

/** What a receiver takes that has nothing to do. */
function idle() {
  return withReceiver(async receiver => {
    await pause(SETTLE_MILLIS)
    const before = await receiver.taken()
    await pause(IDLE_MILLIS)
    const { bytes, cpuMillis } = await receiver.taken()
    return { bytes, cpuMillis: cpuMillis - before.cpuMillis, seconds: IDLE_MILLIS / 1000 }
  })
}

/** Of the receiver, as it is published: medians of fresh processes, in turn. */
export async function receiverCost() {
  const runs = []
  for (let run = 0; run < RUNS; run++) {
    const [oneByOne, lines] = [await throughput(WAYS.oneByOne), await throughput(WAYS.lines)]
    runs.push({ oneByOne, lines, answers: await answers() })
  }
  const of = read => median(runs.map(read))
  return {
    oneByOne: of(run => run.oneByOne.perSecond),
    lines: of(run => run.lines.perSecond),
    p50: of(run => run.answers.p50),
    p99: of(run => run.answers.p99),
    idle: await idle(),
    /** When it has worked. */
    worked: { bytes: of(run => run.oneByOne.bytes), events: runs[0].oneByOne.told },
  }
}
