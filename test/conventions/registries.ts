import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import * as openInference from '@arizeai/openinference-semantic-conventions'

const load = createRequire(import.meta.url)
const CONVENTIONS = dirname(load.resolve('@opentelemetry/semantic-conventions'))

/** A name of a registry. */
export interface Registered {
  readonly name: string
  /** Why it should not be used. That it has moved to another repository is no such reason. */
  readonly deprecated?: string
}

const DECLARATION = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*declare const (\w+): "([^"]+)"/g

/** The package itself does not tell what is deprecated; its declarations do. */
function declared(file: string, prefix: string): Registered[] {
  const text = readFileSync(join(CONVENTIONS, file), 'utf8')
  return [...text.matchAll(DECLARATION)].flatMap(([, comment = '', constant = '', name = '']) => {
    if (!constant.startsWith(prefix)) return []
    const [, deprecated] = /@deprecated ([^\n]*)/.exec(comment) ?? []
    const isMoved = deprecated === undefined || deprecated.startsWith('Moved to')
    return [isMoved ? { name } : { name, deprecated }]
  })
}

function registry(kind: 'attributes' | 'metrics', prefix: string): ReadonlyMap<string, Registered> {
  const all = ['stable', 'experimental'].flatMap(state => declared(`${state}_${kind}.d.mts`, prefix))
  return new Map(all.map(row => [row.name, row]))
}

/** Attributes of OpenTelemetry's conventions, GenAI as of v1.41 among them. */
export const OTEL_ATTRIBUTES: ReadonlyMap<string, Registered> = registry('attributes', 'ATTR_')
export const OTEL_METRICS: ReadonlyMap<string, Registered> = registry('metrics', 'METRIC_')

/** Attributes of OpenInference; some are only the beginning of a name. */
export const OPENINFERENCE_NAMES: ReadonlySet<string> = new Set(
  [...Object.values(openInference), ...Object.values(openInference.SemanticConventions)].flatMap(value =>
    typeof value === 'string' ? [value as string] : [],
  ),
)
