import { peek, textOf } from '../../contract/foreign.ts'
import { type ToolArguments, type ToolCall, toolCallOf } from '../../guards/index.ts'

/** @param input the input of `PreToolUse` or `PostToolUse` */
export function toolSeen(input: unknown): ToolCall {
  return toolCallOf({
    name: String(peek(input, 'tool_name')),
    arguments: (peek(input, 'tool_input') ?? {}) as ToolArguments,
    id: textOf(peek(input, 'tool_use_id')),
    cwd: textOf(peek(input, 'cwd')),
  })
}
