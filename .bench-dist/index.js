/**
 * OpenTelemetry traces and metrics from the hooks of AI agents.
 *
 * @example
 * import { register } from 'hookspan'
 * export default ctx => register(ctx, { host: 'my-agent' })
 */
export { HOOK_NAMES, HOOKS, isHookName } from './contract/index.js';
export { createPlugin } from './wiring/create-plugin.js';
export { register } from './wiring/register.js';
