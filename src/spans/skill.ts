import { SpanKind } from '@opentelemetry/api'
import type { FinalStatus } from '../contract/index.ts'
import { OPENINFERENCE_KIND } from '../semconv/index.ts'
import { AttributeList } from '../spans/attribute-list.ts'
import { literal } from './capture.ts'
import type { SkillEvidence } from './skill-evidence.ts'
import type { SpanDefinition } from './span-definition.ts'

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
    const name = 'name' in payload ? draw.capture.id(payload.name) : undefined
    return literal(`skill${draw.spanNames === 'semconv' ? ' ' : '.'}${name ?? 'unknown'}`)
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
