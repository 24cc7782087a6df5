import { SpanKind } from '@opentelemetry/api'
import { literal, phrase } from '../../content/safe-text.ts'
import { isArray, numberOf, peek } from '../../contract/foreign.ts'
import type { TurnAnswer, TurnStart } from '../../contract/index.ts'
import { OPENINFERENCE_KIND } from '../../contract/semconv/index.ts'
import { AttributeList } from './attribute-list.ts'
import { oneMessage } from './messages.ts'
import { inferenceProvider, modelProvider } from './request-parameters.ts'
import type { SpanDefinition } from './span-definition.ts'

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
    const { facts, capture } = options
    const model = capture.id(payload.model)
    const provider = capture.id(modelProvider((payload as { provider?: unknown }).provider))
    const message = capture.content(payload.user_message, 'llm_input')
    const messages = payload.conversation_history
    const history = capture.history(messages)
    const messageCount = history && isArray(messages) ? numberOf(peek(messages, 'length')) : undefined
    return (
      new AttributeList()
        .set(facts.inferenceKind, literal(OPENINFERENCE_KIND.chain))
        .set(facts.model, model)
        .set(facts.inferenceProvider, inferenceProvider(provider))
        .set(facts.providerName, provider)
        .setContent(facts.input, facts.inputType, facts.contentTruncated, history ?? message)
        .set(facts.inputMessages, oneMessage('user', message, options))
        .set(facts.conversationMessageCount, messageCount)
        // The cost is on the requests.
        .set(facts.costDetails, literal('{"total":0}'))
    )
  },
  end({ payload }, options) {
    const { facts } = options
    const output = options.capture.content(payload.assistant_response, 'llm_output')
    return {
      attributes: new AttributeList()
        .setContent(facts.answer, facts.outputType, facts.contentTruncated, output)
        .set(facts.outputMessages, oneMessage('assistant', output, options))
        .set(facts.responseModel, options.capture.id(payload.model)),
    }
  },
  measure: () => [],
}
