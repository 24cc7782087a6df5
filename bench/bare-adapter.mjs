// What somebody writes by hand for Pi on the bare SDK: five spans of ten attributes a turn, sent in batches. It keeps nothing
// on disk, masks nothing, measures nothing, and writes no content but the prompt and the command.
import { context, SpanStatusCode, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'

const OK = { code: SpanStatusCode.OK }

export default function bareAdapter(pi) {
  const exporter = new OTLPTraceExporter()
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'pi' }),
    spanProcessors: [new BatchSpanProcessor(exporter)],
  })
  const tracer = provider.getTracer('bare')
  const tools = new Map()
  let [turn, llm, request, requests] = []

  const common = ({ sessionManager, model }, operation) => ({
    'gen_ai.operation.name': operation,
    'gen_ai.conversation.id': sessionManager.getSessionId(),
    'gen_ai.provider.name': model.provider,
    'gen_ai.request.model': model.id,
    'gen_ai.agent.name': 'pi',
  })
  const start = (name, parent, attributes) =>
    tracer.startSpan(name, { attributes }, parent ? trace.setSpan(context.active(), parent) : undefined)
  const end = (span, attributes) => span?.setAttributes(attributes).setStatus(OK).end()

  pi.on('session_start', () => {})
  pi.on('before_agent_start', ({ prompt }, context) => {
    requests = 0
    turn = start('invoke_agent', undefined, { ...common(context, 'invoke_agent'), 'input.value': prompt })
    llm = start('llm', turn, { ...common(context, 'chat'), 'input.value': prompt })
  })
  pi.on('before_provider_request', ({ payload }, context) => {
    const attributes = { 'gen_ai.request.number': ++requests, 'gen_ai.request.messages': payload.messages.length }
    request = start(`chat ${context.model.id}`, llm, { ...common(context, 'chat'), ...attributes })
  })
  pi.on('message_end', ({ message: { role, usage, stopReason } }) => {
    if (role !== 'assistant') return
    end(request, {
      'gen_ai.usage.input_tokens': usage.input,
      'gen_ai.usage.output_tokens': usage.output,
      'gen_ai.response.finish_reasons': [stopReason],
    })
  })
  pi.on('tool_execution_start', ({ toolCallId, toolName, args }, context) => {
    const attributes = { 'gen_ai.tool.name': toolName, 'gen_ai.tool.call.id': toolCallId, 'input.value': args.command }
    tools.set(
      toolCallId,
      start(`execute_tool ${toolName}`, request, { ...common(context, 'execute_tool'), ...attributes }),
    )
  })
  pi.on('tool_execution_end', ({ toolCallId, isError, result }) => {
    end(tools.get(toolCallId), { 'tool.is_error': isError, 'tool.parts': result.content.length })
    tools.delete(toolCallId)
  })
  pi.on('agent_end', ({ messages }) => {
    const attributes = { 'agent.messages': messages.length, 'agent.requests': requests, 'agent.outcome': 'completed' }
    end(llm, { ...attributes, 'llm.is_last': true })
    end(turn, { ...attributes, 'turn.is_over': true })
  })
  pi.on('session_shutdown', () => provider.forceFlush())
}
