// A row of buttons of which one is pressed: what is shown, by what, in which list.

interface Option<K> {
  key: K;
  text: string;
  title?: string;
  disabled?: boolean;
}

interface SwitchProps<K> {
  label: string;
  options: readonly Option<K>[];
  chosen: K;
  /** also when the one that is pressed is pressed again */
  onChoose: (key: K) => void;
  class?: string;
}

export function Switch<K extends string | number>(props: SwitchProps<K>) {
  const { label, options, chosen, onChoose } = props;
  return (
    <div class={props.class ? `seg ${props.class}` : "seg"} role="group" aria-label={label}>
      {options.map(({ key, text, title, disabled }) => (
        <button
          type="button"
          key={key}
          aria-pressed={key === chosen}
          title={title}
          disabled={disabled}
          onClick={() => onChoose(key)}
        >
          {text}
        </button>
      ))}
    </div>
  );
}
