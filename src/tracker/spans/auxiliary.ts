import { SpanKind } from '@opentelemetry/api'
import { literal, phrase } from '../../content/safe-text.ts'
import { textOf } from '../../contract/foreign.ts'
import type { AuxiliaryEnd, AuxiliaryStart } from '../../contract/index.ts'
import { api, apiErrorPoints, apiPoints, requestAttributes, responseAttributes, tokenPoints } from './api.ts'
import { errorFacts, OTHER_ERROR } from './error-facts.ts'
import { requestModel } from './request-parameters.ts'
import type { SpanDefinition } from './span-definition.ts'

export function isFailedCall(payload: AuxiliaryEnd): boolean {
  return textOf(payload.error_type) !== undefined || Boolean(payload.error)
}

/** A side call of the host (title, compression, vision, guardian): a model request that is not part of the loop. */
export const auxiliary: SpanDefinition<AuxiliaryStart, AuxiliaryEnd> = {
  kind: 'auxiliary',
  spanKind: SpanKind.CLIENT,
  parents: [],
  key: payload => api.key(payload),
  name(payload, options) {
    const { id } = options.capture
    if (options.spanNames !== 'semconv') return phrase`aux.${id(payload.aux_task) ?? literal('unknown')}`
    const model = id(requestModel(payload))
    return model === undefined ? literal('chat') : phrase`chat ${model}`
  },
  start(event, options) {
    return requestAttributes(event, options).set(options.facts.auxTask, options.capture.id(event.payload.aux_task))
  },
  end(event, options, ended) {
    const { payload } = event
    const attributes = responseAttributes(event, options, ended)
    if (!isFailedCall(payload)) return { attributes }
    const { capture } = options
    const type = capture.id(payload.error_type ?? errorFacts(payload.error).type) ?? literal(OTHER_ERROR)
    const message = capture.errorText(errorFacts(payload.error).message) ?? type
    return { attributes, error: { type, message }, exception: true }
  },
  measure(event, options, ended) {
    if (!isFailedCall(event.payload)) return apiPoints(event, options, ended)
    const { error_type, error } = event.payload
    const failure = { ...errorFacts(error), ...(error_type == null ? {} : { type: error_type }) }
    const failed = { ...event, facts: {}, payload: { ...event.payload, error: failure } }
    return [...tokenPoints(event, options, ended), ...apiErrorPoints(failed, options, ended)]
  },
}
