// A button with a list under it. Arrow keys move, Enter chooses, Escape closes.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Icon } from "./icons";

export interface MenuItem {
  key: string;
  label: ComponentChildren;
  note?: ComponentChildren;
  disabled?: boolean;
}

interface MenuProps {
  label: string;
  class: string;
  children: ComponentChildren;
  items: readonly MenuItem[];
  chosen: string;
  onChoose: (key: string) => void;
}

export function Menu({ label, class: look, children, items, chosen, onChoose }: MenuProps) {
  const open = useSignal(false);
  const box = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();

  useEffect(() => {
    if (!open.value) return;
    const current = list.current?.querySelector<HTMLElement>("[aria-selected=true]");
    (current ?? list.current?.querySelector<HTMLElement>("[role=option]"))?.focus();
    const away = (event: Event) => {
      if (!box.current?.contains(event.target as Node)) open.value = false;
    };
    document.addEventListener("pointerdown", away);
    return () => document.removeEventListener("pointerdown", away);
  }, [open.value, open]);

  const choose = (item: MenuItem) => {
    if (item.disabled) return;
    open.value = false;
    button.current?.focus();
    onChoose(item.key);
  };

  const onKeyDown = (event: KeyboardEvent) => {
    const options = [...(list.current?.querySelectorAll<HTMLElement>("[role=option]") ?? [])];
    const at = options.indexOf(document.activeElement as HTMLElement);
    if (event.key === "Escape") {
      open.value = false;
      button.current?.focus();
    } else if (event.key === "ArrowDown") options[Math.min(options.length - 1, at + 1)]?.focus();
    else if (event.key === "ArrowUp") options[Math.max(0, at - 1)]?.focus();
    else if (event.key === "Home") options[0]?.focus();
    else if (event.key === "End") options.at(-1)?.focus();
    else if (event.key === "Enter" || event.key === " ") {
      const item = items[at];
      if (item) choose(item);
    } else if (event.key === "Tab") {
      open.value = false;
      return;
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div class="menubox" ref={box}>
      <button
        type="button"
        class={look}
        ref={button}
        aria-haspopup="listbox"
        aria-expanded={open.value}
        aria-controls={open.value ? id : undefined}
        title={label}
        onClick={() => {
          open.value = !open.value;
        }}
      >
        {children}
        <Icon name="down" />
      </button>
      {open.value && (
        <ul class="menu" role="listbox" id={id} aria-label={label} ref={list} onKeyDown={onKeyDown}>
          {items.map((item) => (
            <li
              key={item.key}
              role="option"
              tabIndex={-1}
              aria-selected={item.key === chosen}
              aria-disabled={item.disabled ?? false}
              onClick={() => choose(item)}
            >
              <span class="cut">{item.label}</span>
              {item.note !== undefined && <span class="faint num">{item.note}</span>}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
