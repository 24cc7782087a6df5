import { median, oneDecimal, twoDecimals } from './figures.mjs'
import { answerOf, inScratch } from './own-process.mjs'
import { Sink } from './sink-process.mjs'

const RUNS = 11
const SIDES = ['none', 'bare', 'ours']
const SPANS_A_TURN = 5

/** One process of an agent, and what came of what it recorded. */
function agent(side) {
  return inScratch(async home => {
    const sink = await Sink.start(home)
    try {
      const { complaints, delivered, ...figures } = await answerOf(
        'agent-process.mjs',
        { side, endpoint: sink.url },
        home,
      )
      const spans = figures.turns * SPANS_A_TURN
      const came = { none: [], bare: [(await sink.counts()).jsonSpans], ours: delivered }[side]
      if (complaints !== '' || came.some(count => count !== spans)) {
        throw new Error(`${side}: ${spans} spans were told, ${came} came: ${complaints}`)
      }
      return figures
    } finally {
      sink.stop()
    }
  })
}

/**
 * What an agent pays for our Pi adapter with its defaults, and for an adapter written by hand on the bare SDK: the same events,
 * in fresh processes, in turn. Milliseconds, and the ratio of the medians.
 */
export async function agentCost() {
  const runs = { none: [], bare: [], ours: [] }
  for (let run = 0; run < RUNS; run++) for (const side of SIDES) runs[side].push(await agent(side))
  const host = median(runs.none.map(({ cpu }) => cpu))
  const compare = (what, less = 0) => {
    const [bare, ours] = ['bare', 'ours'].map(side => median(runs[side].map(figures => figures[what])) - less)
    return { ratio: ours / bare, bareMillis: bare, oursMillis: ours }
  }
  return {
    start: compare('start'),
    firstTurn: compare('firstTurn'),
    coldTurn: compare('coldTurn'),
    steadyTurn: compare('steadyTurn'),
    cpu: compare('cpu', host),
  }
}

/** What a reader takes home. */
export function inShort({ start, firstTurn, coldTurn, steadyTurn, cpu }) {
  const of = (what, digits) => digits(what.oursMillis)
  const against = (what, digits) => `${digits(what.bareMillis)} ms`
  const ours = `${of(start, oneDecimal)} ms at its start, ${of(firstTurn, oneDecimal)} ms in its first turn, ${of(coldTurn, twoDecimals)} ms in each of the next nineteen and ${of(steadyTurn, twoDecimals)} ms in later ones`
  const bare = `${[start, firstTurn].map(what => against(what, oneDecimal)).join(', ')}, ${[coldTurn, steadyTurn].map(what => against(what, twoDecimals)).join(' and ')}`
  return `**An agent waits for hookspan ${ours}, and its process spends ${of(cpu, twoDecimals)} ms of CPU on a turn, trace log, delivery and metrics included. For an adapter written by hand on the bare OpenTelemetry SDK, without log, metrics and masking, it is ${bare}, and ${against(cpu, twoDecimals)} of CPU.**`
}
