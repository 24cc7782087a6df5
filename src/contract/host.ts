/** A callback as hosts call it: one payload, nothing returned but, at a session's end, a promise of the flush. */
export type HookHandler = (payload?: unknown) => Promise<void> | undefined

/**
 * All that a host must offer for `register`: a way to subscribe to a hook by name.
 * A host that throws on an unknown name simply gets fewer hooks.
 */
export interface HostContext {
  /** Has the handler called each time the hook fires; what it returns is not looked at, but that a promise may fail. */
  registerHook?(name: string, handler: HookHandler): unknown
  /** The same, where names are spelt so; `registerHook` wins. */
  register_hook?(name: string, handler: HookHandler): unknown
}
