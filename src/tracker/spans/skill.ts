import { type Attributes, SpanKind } from '@opentelemetry/api'
import { literal, phrase } from '../../content/safe-text.ts'
import { peek, textOf, wholeOf } from '../../contract/foreign.ts'
import type { FinalStatus, SkillLifecycle, ToolStart } from '../../contract/index.ts'
import { OPENINFERENCE_KIND } from '../../contract/semconv/index.ts'
import { AttributeList } from './attribute-list.ts'
import type { AttributeOptions, SkillEvidence, SpanDefinition } from './span-definition.ts'

const PATH_KEYS = ['path', 'file_path', 'target'] as const
const NAME_KEYS = ['name', 'skill', 'skill_name'] as const
const NAME = /^[A-Za-z0-9_-]{1,100}$/
const MAX_PATH = 4096

/** `…/skills/<category>/<name>/SKILL.md` → name; `…/skills/<name>/…` → name. `optional-skills` is no `skills` segment. */
function nameInPath(path: string): string | undefined {
  if (path.length > MAX_PATH || !path.includes('skills')) return undefined
  const segments = path.split(/[\\/]/)
  const at = segments.lastIndexOf('skills')
  if (at < 0) return undefined
  const manifest = segments.lastIndexOf('SKILL.md')
  const name = manifest > at + 1 ? segments[manifest - 1] : segments[at + 1]
  return name !== undefined && NAME.test(name) ? name : undefined
}

function fromSkillView(args: unknown): SkillEvidence | undefined {
  for (const key of NAME_KEYS) {
    const given = textOf(peek(args, key))?.trim()
    if (given === undefined) continue
    const path = /[\\/]/.test(given) ? given : undefined
    const plain = given.slice(given.lastIndexOf(':') + 1).split(/[\\/]/)[0] ?? ''
    const name = (path && nameInPath(path)) ?? plain
    return NAME.test(name) ? { name, source: 'skill_view', path } : undefined
  }
  return undefined
}

function fromPath(args: unknown): SkillEvidence | undefined {
  for (const key of PATH_KEYS) {
    const path = textOf(peek(args, key))
    const name = path === undefined ? undefined : nameInPath(path)
    if (name !== undefined) return { name, source: 'path_match', path }
  }
  return undefined
}

export function skillOf(payload: ToolStart): SkillEvidence | undefined {
  return (payload.tool_name === 'skill_view' ? fromSkillView(payload.args) : undefined) ?? fromPath(payload.args)
}

export interface KeptTool extends Pick<ToolStart, 'tool_name'> {
  readonly skill?: SkillEvidence | undefined
}

export function skillLifecycle(payload: SkillLifecycle, { facts, capture }: AttributeOptions): Attributes {
  return new AttributeList()
    .set(facts.skillName, capture.id(payload.skill_name))
    .set(facts.skillAction, capture.id(payload.action))
    .set(facts.skillProvenance, capture.id(payload.provenance))
    .set(facts.skillUseCount, wholeOf(payload.use_count))
    .toAttributes()
}

/** A skill span has no hook: the core opens it when a tool has loaded a skill and ends it with the turn. */
export const skill: SpanDefinition<SkillEvidence, { readonly finalStatus: FinalStatus }> = {
  kind: 'skill',
  spanKind: SpanKind.INTERNAL,
  parents: [],
  key: payload => ('name' in payload ? payload.name : undefined),
  name(payload, options) {
    const name = ('name' in payload ? options.capture.id(payload.name) : undefined) ?? literal('unknown')
    return options.spanNames === 'semconv' ? phrase`skill ${name}` : phrase`skill.${name}`
  },
  start({ payload }, { facts, capture }) {
    return new AttributeList()
      .set(facts.inferenceKind, literal(OPENINFERENCE_KIND.chain))
      .set(facts.skillName, capture.id(payload.name))
      .set(facts.skillSource, literal(payload.source))
      .set(facts.skillPath, capture.snippet(payload.path))
  },
  end({ payload }, options) {
    return { attributes: new AttributeList().set(options.facts.skillResultStatus, literal(payload.finalStatus)) }
  },
  measure: () => [],
}
