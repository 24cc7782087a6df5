import { peek } from '../contract/foreign.ts'
import type { AnyHookEvent } from './received-hook.ts'
import { AttributeList } from './spans/attribute-list.ts'
import type { AttributeOptions } from './spans/span-definition.ts'
import type { TrackedSpan } from './turn.ts'

/** Renames a span if the model is known only at the end: `llm` -> `llm.claude-opus-5-5`. */
export function nameByModel(
  open: TrackedSpan,
  event: AnyHookEvent,
  attributeOptions: AttributeOptions,
): AttributeList | undefined {
  const { kind, definition, name, span, start } = open
  if ((kind !== 'api' && kind !== 'llm') || peek(start, 'model') !== undefined) return undefined
  const model = attributeOptions.capture.id(peek(event.payload, 'model'))
  const named = definition.name(event.payload, attributeOptions)
  if (model === undefined || named === name) return undefined
  span.updateName(named)
  const { genAi, inference } = attributeOptions.names
  // The end of a turn names the model that answered, which may differ from the requested one.
  return new AttributeList().set(inference.modelName, model).set(genAi.requestModel, kind === 'api' ? model : undefined)
}
