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

/** The headline. */
export function inShort({ start, firstTurn, coldTurn, steadyTurn, cpu }) {
  const side = millis =>
    [
      `- Wait at the start: ${oneDecimal(start[millis])} ms.`,
      `- Wait in the first turn: ${oneDecimal(firstTurn[millis])} ms; turns 2 to 20: ${twoDecimals(coldTurn[millis])} ms each; later turns: ${twoDecimals(steadyTurn[millis])} ms each.`,
      `- CPU time of the process: ${twoDecimals(cpu[millis])} ms per turn.`,
    ].join('\n')
  return `**Cost of hookspan in an agent**, with trace log, delivery and metrics:

${side('oursMillis')}

**Cost of a hand-written adapter on the bare OpenTelemetry SDK**, without log, metrics and masking:

${side('bareMillis')}`
}
