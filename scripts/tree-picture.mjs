// docs/images/trace-tree.svg: the second turn of the bundled session, as the built code records and draws it.

import { buildForest } from '../build/reading/trace-forest.js'
import { createTestPlugin } from '../build/testing.js'
import { recording } from './observed-spans.mjs'
import { renderTreeSvg } from './tree-svg.mjs'

const TURN = 2

/** The picture, ending in a line break. */
export function picture() {
  // With costs, as `hookspan demo` records them without a backend.
  const plugin = createTestPlugin({ host: 'demo', deterministic_ids: true, prices: { 'custom/*': 0 } })
  for (const { hook, payload, ...meta } of recording('demo-session.jsonl')) plugin.emit(hook, payload, meta)
  const trees = buildForest(plugin.spans())
  const tree = trees.find(({ roots: [root] }) => root.span.attributes['hermes.turn.number'] === TURN)
  return renderTreeSvg(tree, { width: 1180 })
}
