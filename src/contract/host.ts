/** A callback as hosts call it: one payload. Returns nothing except, at a session's end, a promise of the flush. */
export type HookHandler = (payload?: unknown) => Promise<void> | undefined

/**
 * The interface that a host must offer for `register`: a way to subscribe to a hook by name. If a host throws on an
 * unknown name, only that hook is missing.
 */
export interface HostContext {
  /** Calls the handler each time the hook fires. The returned value is ignored, but a rejected promise is handled. */
  registerHook?(name: string, handler: HookHandler): unknown
  /** The same, for hosts with snake_case names; `registerHook` wins. */
  register_hook?(name: string, handler: HookHandler): unknown
}
