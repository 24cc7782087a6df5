// Writes all generated files of the repository: npm run docs
import { mkdirSync, writeFileSync } from 'node:fs'
import { argv } from 'node:process'
import { pathToFileURL } from 'node:url'
import { METRIC } from '../build/contract/semconv/index.js'
import { INSTRUMENTS } from '../build/tracker/instrument-table.js'
import { architecture } from './architecture-picture.mjs'
import { configSchema } from './config-schema.mjs'
import { configurationDoc } from './configuration-doc.mjs'
import { dashboardText } from './dashboard.mjs'
import { hooksDoc } from './hooks-doc.mjs'
import { metricsDoc } from './metrics-doc.mjs'
import { spansDoc } from './spans-doc.mjs'
import { picture } from './tree-picture.mjs'

/** Path in the repository → function that returns its text. */
export const GENERATED = new Map([
  ['docs/configuration.md', configurationDoc],
  ['docs/config.schema.json', configSchema],
  ['docs/hooks.md', hooksDoc],
  ['docs/spans.md', spansDoc],
  ['docs/metrics.md', metricsDoc],
  ['docs/images/trace-tree.svg', picture],
  ['docs/images/architecture.svg', architecture],
  ['observability/grafana/dashboards/hookspan.json', () => dashboardText({ METRIC, INSTRUMENTS })],
])

if (argv[1] && import.meta.url === pathToFileURL(argv[1]).href) {
  for (const [path, text] of GENERATED) {
    const url = new URL(`../${path}`, import.meta.url)
    mkdirSync(new URL('.', url), { recursive: true })
    writeFileSync(url, text())
  }
}
