import { type Attributes, SpanKind } from '@opentelemetry/api'
import { literal, phrase } from '../content/capture.ts'
import { wholeOf } from '../contract/foreign.ts'
import type { FinalStatus, SkillLifecycle } from '../contract/index.ts'
import { OPENINFERENCE_KIND } from '../semconv/index.ts'
import { AttributeList } from './attribute-list.ts'
import type { SkillEvidence } from './skill-evidence.ts'
import type { Draw, SpanDefinition } from './span-definition.ts'

/** What the event says of a skill that is used, made or changed. */
export function skillLifecycle(payload: SkillLifecycle, { names, capture }: Draw): Attributes {
  const { own } = names
  return new AttributeList()
    .set(own.skillName, capture.id(payload.skill_name))
    .set(own.skillAction, capture.id(payload.action))
    .set(own.skillProvenance, capture.id(payload.provenance))
    .set(own.skillUseCount, wholeOf(payload.use_count))
    .toAttributes()
}

/** No hook of its own: the tracker opens the window when a tool has loaded a skill and closes it with the turn. */
export interface SkillWindowEnd {
  readonly finalStatus: FinalStatus
}

export const skill: SpanDefinition<SkillEvidence, SkillWindowEnd> = {
  kind: 'skill',
  spanKind: SpanKind.INTERNAL,
  parents: [],
  key: payload => ('name' in payload ? payload.name : undefined),
  name(payload, draw) {
    const name = ('name' in payload ? draw.capture.id(payload.name) : undefined) ?? literal('unknown')
    return draw.spanNames === 'semconv' ? phrase`skill ${name}` : phrase`skill.${name}`
  },
  start({ payload }, draw) {
    const { own, inference } = draw.names
    return new AttributeList()
      .set(inference.spanKind, literal(OPENINFERENCE_KIND.chain))
      .set(own.skillName, draw.capture.id(payload.name))
      .set(own.skillSource, literal(payload.source))
      .set(own.skillPath, draw.capture.snippet(payload.path))
  },
  end({ payload }, draw) {
    return { attributes: new AttributeList().set(draw.names.own.skillResultStatus, literal(payload.finalStatus)) }
  },
  measure: () => [],
}
