import { Icon } from "./icons";
export function SearchBox() {
  return (
    <label class="search">
      <Icon name="search" />
      <input id="search" type="search" placeholder="Search frames, addresses, sizes" aria-label="Search" />
      <kbd>/</kbd>
    </label>
  );
}
