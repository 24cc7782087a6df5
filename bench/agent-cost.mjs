import { median, oneDecimal, twoDecimals } from './figures.mjs'
import { answerOf, inScratch } from './own-process.mjs'
import { Sink } from './sink-process.mjs'

const RUNS = 11
const SIDES = ['none', 'bare', 'ours']
const SPANS_A_TURN = 5

/** Plays one process of an agent, and checks that its spans arrived. */
function agent(side, cadence) {
  return inScratch(async home => {
    const sink = await Sink.start(home)
    try {
      const { complaints, delivered, ...figures } = await answerOf(
        'agent-process.mjs',
        { side, cadence, endpoint: sink.url },
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

/** Figures of fresh processes with each side, alternating: the medians in milliseconds. */
async function sides(cadence) {
  const runs = { none: [], bare: [], ours: [] }
  for (let run = 0; run < RUNS; run++) for (const side of SIDES) runs[side].push(await agent(side, cadence))
  const figure = (side, what) => median(runs[side].map(figures => figures[what]))
  const compare = (what, less = 0) => {
    const [bare, ours] = ['bare', 'ours'].map(side => figure(side, what) - less)
    return { ratio: ours / bare, bareMillis: bare, oursMillis: ours }
  }
  return { figure, compare }
}

/** Cost of our Pi adapter with its defaults, and of an adapter written by hand on the bare SDK, for the same events. */
export async function agentCost() {
  const { figure, compare } = await sides('steady')
  return {
    start: compare('start'),
    firstTurn: compare('firstTurn'),
    coldTurn: compare('coldTurn'),
    steadyTurn: compare('steadyTurn'),
    cpu: compare('cpu', figure('none', 'cpu')),
  }
}

/** Cost of a first turn that follows the start at once: without turns of the event loop, and with pauses between events. */
export async function firstTurnCost() {
  const [tight, paced] = [await sides('tight'), await sides('paced')]
  const turnMillis = paced.figure('none', 'turnMillis')
  return {
    wait: tight.compare('firstTurn'),
    cpu: tight.compare('cpu', tight.figure('none', 'cpu')),
    turnMillis,
    longer: paced.compare('turnMillis', turnMillis),
  }
}

/** The headline. */
export function inShort({ start, firstTurn, coldTurn, steadyTurn, cpu }, { wait, turnMillis, longer }) {
  const side = millis =>
    [
      `- Wait at the start: ${oneDecimal(start[millis])} ms.`,
      `- Wait in the first turn: ${oneDecimal(firstTurn[millis])} ms, or ${oneDecimal(wait[millis])} ms without event-loop turns between its hooks. A first turn of ${Math.round(turnMillis)} ms takes ${oneDecimal(longer[millis])} ms longer.`,
      `- Wait in turns 2 to 20: ${twoDecimals(coldTurn[millis])} ms each; later turns: ${twoDecimals(steadyTurn[millis])} ms each.`,
      `- CPU time of the process: ${twoDecimals(cpu[millis])} ms per turn.`,
    ].join('\n')
  return `**Cost of hookspan in an agent**, with trace log, delivery and metrics:

${side('oursMillis')}

**Cost of a hand-written adapter on the bare OpenTelemetry SDK**, without log, metrics and masking:

${side('bareMillis')}`
}
