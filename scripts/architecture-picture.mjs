// docs/images/architecture.svg: the modules of src, and the eight steps of a hook in them (docs/design.md).
import { segment } from '../build/reading/segments.js'
import { frame, PALETTE, rect, textAt } from './tree-svg.mjs'

const WIDTH = 1195
const HEIGHT = 424
const PAD = 14
const LINE = 19

/** The first line names modules, or their surroundings. */
export const BOXES = {
  agents: { at: [30, 64, 180, 92], tone: 'subagent', lines: ['agents/', 'an adapter each,', 'in its process'] },
  receiver: { at: [30, 200, 180, 92], tone: 'subagent', lines: ['receiver/', 'one process, for', 'agents elsewhere'] },
  plugin: { at: [290, 64, 175, 92], tone: 'llm', lines: ['plugin/', '1 queue: a copy,', 'the call returns'] },
  tracker: {
    at: [530, 64, 210, 92],
    tone: 'api',
    lines: ['tracker/', '2 guard, 3 plan,', '4 sweep, 5 match, 6 end'],
  },
  delivery: { at: [800, 64, 175, 92], tone: 'tool', lines: ['delivery/', '7 store: trace log', '8 send: queues'] },
  backends: { at: [1010, 200, 155, 92], tone: 'dim', lines: ['backends', 'OTLP: HTTP, gRPC', 'file, console'] },
  log: { at: [800, 200, 175, 92], tone: 'dim', lines: ['trace log', 'files that only', 'your user can read'] },
  reading: { at: [530, 200, 210, 92], tone: 'approval', lines: ['reading/', 'trees, sums,', 'critical path, diff'] },
  viewers: { at: [290, 200, 175, 92], tone: 'approval', lines: ['viewer/, cli/', 'page, index,', 'commands'] },
  guards: { at: [30, 326, 180, 68], tone: 'warn', lines: ['guards/', 'block, rewrite, ask'] },
  base: {
    at: [290, 326, 685, 68],
    tone: 'skill',
    lines: ['contract/, content/', 'below all others: hook records and names; capture and redaction'],
  },
}

const ARROWS = [
  { points: ['210 110', '290 110'], label: 'hook records' },
  { points: ['210 246', '250 246', '250 126', '290 126'] },
  { points: ['465 110', '530 110'], label: 'copies' },
  { points: ['740 110', '800 110'], label: 'spans' },
  { points: ['975 110', '1087 110', '1087 200'], label: 'batches' },
  { points: ['887 156', '887 200'] },
  { points: ['800 246', '740 246'], label: 'lines' },
  { points: ['530 246', '465 246'], label: 'traces' },
  { points: ['120 326', '120 292'] },
  { points: ['30 360', '14 360', '14 110', '30 110'] },
]

function box({ at: [x, y, width, height], tone, lines: [title, ...rest] }) {
  const look = `rx="8" fill="${PALETTE.track}" stroke="${PALETTE[tone]}"`
  return [
    rect(x + 0.5, y + 0.5, width, height, look),
    textAt(x + PAD, y + 27, [segment('strong', title)]),
    ...rest.map((line, index) => textAt(x + PAD, y + 52 + index * LINE, [segment('plain', line)])),
  ]
}

function arrow({ points, label }) {
  const places = points.map(point => point.split(' ').map(Number))
  const [[fromX, fromY], [toX, toY]] = places.slice(-2)
  const [dx, dy] = [Math.sign(toX - fromX), Math.sign(toY - fromY)]
  const [backX, backY] = [toX - 7 * dx, toY - 7 * dy]
  const head = `M${backX - 4 * dy} ${backY - 4 * dx}L${toX} ${toY}L${backX + 4 * dy} ${backY + 4 * dx}`
  const [[x, y], [nextX]] = places
  const look = `text-anchor="middle" font-size="10" fill="${PALETTE.dim}"`
  return [
    `<path d="M${points.join('L')}${head}" fill="none" stroke="${PALETTE.dim}"/>`,
    label === undefined ? '' : `<text x="${(x + nextX) / 2}" y="${y - 8}" ${look}>${label}</text>`,
  ]
}

/** The picture, ending in a line break. */
export function architecture() {
  const title = [segment('strong', 'From a hook to a backend'), segment('dim', '  modules of src/, steps 1 to 8')]
  const parts = [textAt(30, 38, title), ...ARROWS.flatMap(arrow), ...Object.values(BOXES).flatMap(box)]
  return frame(
    'Architecture: agents and the receiver give hook records to plugin, tracker and delivery',
    WIDTH,
    HEIGHT,
    parts,
  )
}
