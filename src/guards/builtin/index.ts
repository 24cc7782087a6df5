/** `hookspan/hooks/builtin`: ready-made hooks. Each validates its options when it is created. */

export { type BudgetOptions, budget, type Limits } from './budget.ts'
export { type ContentFilterOptions, contentFilter, type FilterAction, type FilteredPhase } from './content-filter.ts'
export { type GuardrailsOptions, guardrails } from './guardrails.ts'
export { type LoggingOptions, logging, type StructuredLoggingOptions, structuredLogging } from './logging.ts'
export { type LoopGuardOptions, loopGuard } from './loop-guard.ts'
export { type ModelRetryOptions, modelRetry } from './model-retry.ts'
export type { BuiltinOptions } from './options.ts'
export type { PathRules } from './path-rules.ts'
export type { PatternConfig } from './pattern.ts'
export type { CommandPattern, CommandRules, PatternRule, SqlRules, ToolRules } from './rules.ts'
export { type Judgement, type SteeringOptions, steering } from './steering.ts'
export { type WorkflowGuardOptions, workflowGuard } from './workflow-guard.ts'
