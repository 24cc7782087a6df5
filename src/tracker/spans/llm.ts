import { SpanKind } from '@opentelemetry/api'
import { literal, phrase } from '../../content/capture.ts'
import { isArray, numberOf, peek } from '../../contract/foreign.ts'
import type { TurnAnswer, TurnStart } from '../../contract/index.ts'
import { OPENINFERENCE_KIND } from '../../contract/semconv/index.ts'
import { AttributeList } from './attribute-list.ts'
import { oneMessage } from './messages.ts'
import { inferenceProvider, modelProvider } from './request-parameters.ts'
import type { SpanDefinition } from './span-definition.ts'

function messageCount(history: unknown): number | undefined {
  return isArray(history) ? numberOf(peek(history, 'length')) : undefined
}

/** The key of the loop: a turn has one. */
export const LOOP = 'loop'

/** The turn's loop: from the user's message to the final answer. It is neither a request nor a second agent. */
export const llm: SpanDefinition<TurnStart, TurnAnswer> = {
  kind: 'llm',
  spanKind: SpanKind.INTERNAL,
  parents: [],
  key: () => LOOP,
  name({ model }, options) {
    const named = options.capture.id(model)
    if (named === undefined) return literal(options.spanNames === 'semconv' ? 'turn' : 'llm')
    return options.spanNames === 'semconv' ? phrase`turn ${named}` : phrase`llm.${named}`
  },
  start({ payload }, options) {
    const { own, genAi, inference, langfuse } = options.names
    const { capture } = options
    const model = capture.id(payload.model)
    const provider = capture.id(modelProvider((payload as { provider?: unknown }).provider))
    const message = capture.content(payload.user_message, 'llm_input')
    const history = capture.history(payload.conversation_history)
    const input = history ?? message
    return (
      new AttributeList()
        .set(inference.spanKind, literal(OPENINFERENCE_KIND.chain))
        .set(inference.modelName, model)
        .set(genAi.requestModel, model)
        .set(inference.provider, inferenceProvider(provider))
        .set(genAi.providerName, provider)
        .set(inference.inputValue, input?.text)
        .set(inference.inputMimeType, input?.mimeType)
        .set(genAi.inputMessages, oneMessage('user', message, options))
        .set(
          own.conversationMessageCount,
          history === undefined ? undefined : messageCount(payload.conversation_history),
        )
        // The cost is on the requests.
        .set(langfuse.costDetails, literal('{"total":0}'))
        .set(own.contentTruncated, input?.truncated || undefined)
    )
  },
  end({ payload }, options) {
    const { own, genAi, inference } = options.names
    const output = options.capture.content(payload.assistant_response, 'llm_output')
    return {
      attributes: new AttributeList()
        .set(inference.outputValue, output?.text)
        .set(inference.outputMimeType, output?.mimeType)
        .set(genAi.outputMessages, oneMessage('assistant', output, options))
        .set(own.contentCompletion, output?.text)
        .set(genAi.responseModel, options.capture.id(payload.model))
        .set(own.contentTruncated, output?.truncated || undefined),
    }
  },
  measure: () => [],
}
